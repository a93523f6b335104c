"""The Arena's HTML pages, rendered on the server; they work without JavaScript.

`page_routes` adds the routes; `agent_pages`, `market_pages` and `log_pages` compute the template contexts, and
`html_rendering` renders `templates/`. Imports `server`, `store`, `scoring`, `log`, `protocol`, `timestamps`,
`request_schema` and `report`.
"""
