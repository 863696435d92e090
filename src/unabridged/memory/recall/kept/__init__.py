"""What recall keeps in memory of tables that are small enough: who is called what, who states what, which is whole."""
