// Processes with something between Nextflow and their scripts.
nextflow.enable.dsl = 2

process SCRATCH {
    scratch true
    input: val sample
    script: "marker --test ${params.test} --step SCRATCH --sample ${sample}; marker --test ${params.test} --step SCRATCH --sample ${sample} --exit 3 || true"
}

process BEFORE {
    beforeScript "marker --test ${params.test} --step BEFORE --hook 1"
    afterScript "marker --test ${params.test} --step BEFORE --hook 1"
    scratch true
    script: "marker --test ${params.test} --step BEFORE"
}

process PYTHON {
    scratch true
    script:
    """
    #!/usr/bin/env python3
    import subprocess
    subprocess.check_call("marker --test ${params.test} --step PYTHON".split())
    """
}

process NICE {
    shell '/usr/bin/env', 'nice', '-n', '1', 'bash', '-e'
    script: "marker --test ${params.test} --step NICE"
}

workflow {
    SCRATCH(channel.of('S1', 'S2'))
    BEFORE()
    PYTHON()
    NICE()
}
