"""What people see: texts, pictures, the report, the server and its client, the command line."""
