"""Reading topics in Spark: `rules` and `planning` say what a query reads, `cluster_offsets` asks the brokers, the
readers are what Spark calls on the driver, `task_reading` is what a task does.
"""
