SELECT instance, max(vcpus), max(memory_gib)
FROM (
    SELECT instance, vcpus, memory_gib FROM work
    UNION ALL SELECT instance, vcpus, memory_gib FROM hosts
    UNION ALL SELECT w.instance, s.vcpus, s.memory_gib FROM work AS w JOIN sizes AS s USING (instance_type)
    UNION ALL SELECT h.instance, s.vcpus, s.memory_gib FROM hosts AS h JOIN sizes AS s USING (instance_type))
WHERE instance IS NOT NULL GROUP BY instance
