"""What people see: tables for the terminal, pages, rankings."""
