CREATE TABLE machines (machine VARCHAR PRIMARY KEY, host_name VARCHAR, instance VARCHAR, instance_type VARCHAR, provider VARCHAR,
    booted BIGINT, first BIGINT, last BIGINT, whole BOOLEAN);
CREATE TABLE host_samples (machine VARCHAR, t0 BIGINT, t1 BIGINT, cpus INTEGER, task_cpu_ns UBIGINT, system_cpu_ns UBIGINT,
    memory_bytes UBIGINT, task_memory_bytes UBIGINT, tasks UBIGINT);
CREATE TABLE works (machine VARCHAR, run VARCHAR, pipeline VARCHAR, uid UINTEGER, ended BIGINT);
CREATE TABLE stalls (machine VARCHAR, task VARCHAR, run VARCHAR, pipeline VARCHAR, uid UINTEGER, of_task BOOLEAN, tool VARCHAR,
    waits_for VARCHAR, confidence VARCHAR, code VARCHAR, t0 BIGINT, t1 BIGINT, ended BIGINT);
CREATE TABLE requests (machine VARCHAR, t0 BIGINT, t1 BIGINT, cpus DOUBLE, memory_bytes UBIGINT);
CREATE TABLE tasks_read (machine VARCHAR, task_key VARCHAR, PRIMARY KEY (machine, task_key));
CREATE TABLE gpu_uses (machine VARCHAR, t BIGINT, used BOOLEAN);
CREATE TABLE outside (machine VARCHAR, t BIGINT, cgroup VARCHAR, cpu_ns UBIGINT)
