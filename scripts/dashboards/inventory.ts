import { processesOf, requestsOf, standbyOf } from './common-sections.ts'
import type { Dashboard } from './dashboard.ts'

export const inventory: Dashboard = {
  uid: 'trestle-inventory',
  title: 'Trestle: inventory',
  sections: [
    requestsOf('inventory'),
    {
      title: 'Stock',
      panels: [
        {
          title: 'Movements',
          unit: 'ops',
          queries: [{ expr: 'sum by (type) (rate(inventory_movements_total[$__rate_interval]))', legend: '{{type}}' }],
        },
        {
          title: 'Reservations by what they have become',
          unit: 'ops',
          queries: [
            { expr: 'sum by (status) (rate(inventory_reservations_total[$__rate_interval]))', legend: '{{status}}' },
          ],
        },
        {
          title: 'The most overdue reservation',
          description: 'More than some seconds: nothing expires reservations, and their stock cannot be sold.',
          unit: 's',
          queries: [{ expr: 'max(inventory_reservation_overdue_seconds)', legend: 'overdue' }],
        },
      ],
    },
    {
      title: 'Imports and upkeep',
      panels: [
        {
          title: 'Rows of imports',
          unit: 'ops',
          queries: [
            { expr: 'sum by (outcome) (rate(inventory_import_rows_total[$__rate_interval]))', legend: '{{outcome}}' },
          ],
        },
        {
          title: 'Turns of upkeep',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (task, outcome) (rate(jobs_total{job="inventory"}[$__rate_interval]))',
              legend: '{{task}} {{outcome}}',
            },
          ],
        },
      ],
    },
    processesOf('inventory'),
    standbyOf('inventory'),
  ],
}
