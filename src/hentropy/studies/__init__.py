"""What is kept and who works: records, stopping rules, stores, definition files, studies and their execution."""
