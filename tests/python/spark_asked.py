# SPDX-License-Identifier: Apache-2.0
"""Asks Spark: run by the Python that has pyspark. argv: the cluster, the jars, what `tracer lake views` has written, the questions (JSON).

Prints the hosts of executors, and each answer's columns and rows, as JSON."""

import datetime
import json
import pathlib
import sys

from pyspark.sql import SparkSession

EPOCH = datetime.datetime(1970, 1, 1)
master, jars, views, questions = sys.argv[1:]
session = (SparkSession.builder.master(master).config("spark.jars", jars).config("spark.ui.enabled", "false")
           .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
           .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
           .config("spark.sql.warehouse.dir", str(pathlib.Path(views).with_name("warehouse")))
           .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.memory", "768m")
           .config("spark.executor.memory", "512m").config("spark.executor.cores", "1").config("spark.sql.shuffle.partitions", "2")
           # Without it, the first executor may do everything before the second has come.
           .config("spark.scheduler.minRegisteredResourcesRatio", "1.0").config("spark.scheduler.maxRegisteredResourcesWaitingTime", "300s")
           .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
           .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC").getOrCreate())
for statement in pathlib.Path(views).read_text("utf-8").split(";\n"):
    if statement.strip():
        session.sql(statement)


def plain(value):
    if isinstance(value, datetime.datetime):
        # collect() has made it local.
        return round(value.timestamp() * 1e6)
    return str(value) if isinstance(value, datetime.date) else value


answers = []
for question in json.loads(questions):
    asked = session.sql(question)
    answers.append([asked.columns, [[plain(value) for value in row] for row in asked.collect()]])
executors = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
print(json.dumps({"executors": len(executors) - 1, "answers": answers}))
session.stop()
