import { jobsOf, processesOf, requestsOf, standbyOf } from './common-sections.ts'
import type { Dashboard } from './dashboard.ts'

/** The dashboard of auth. */
export const auth: Dashboard = {
  uid: 'trestle-auth',
  title: 'Trestle: auth',
  sections: [
    requestsOf('auth'),
    {
      title: 'Passwords and sessions',
      panels: [
        {
          title: 'Password hashes and comparisons',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (alg) (rate(auth_password_hash_completed_total[$__rate_interval]))',
              legend: 'hash {{alg}}',
            },
            {
              expr: 'sum by (alg) (rate(auth_password_compare_completed_total[$__rate_interval]))',
              legend: 'compare {{alg}}',
            },
          ],
        },
        {
          title: 'Passwords in the queue',
          description: 'Each takes tens of milliseconds of a core. Beyond about two seconds of work the answer is 503.',
          unit: 'short',
          queries: [
            {
              expr: 'sum(auth_password_hash_submitted_total) - sum(auth_password_hash_completed_total)',
              legend: 'hashes',
            },
            {
              expr: 'sum(auth_password_compare_submitted_total) - sum(auth_password_compare_completed_total)',
              legend: 'comparisons',
            },
          ],
        },
        {
          title: 'Spent refresh tokens that were used again',
          description:
            'Allowed: a client that had not read its answer. Revoked: taken for stolen, the session has ended.',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (outcome) (rate(auth_refresh_token_reuse_total[$__rate_interval]))',
              legend: '{{outcome}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Messages',
      panels: [
        {
          title: 'Mails sent to the server',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (type) (rate(auth_email_send_operations_total[$__rate_interval]))',
              legend: '{{type}}',
            },
          ],
        },
        {
          title: 'Mails that the server refused',
          description: 'They are tried again for a day.',
          unit: 'ops',
          queries: [
            { expr: 'sum by (type) (rate(auth_email_send_errors_total[$__rate_interval]))', legend: '{{type}}' },
          ],
        },
        {
          title: 'Requests refused because too many mails were sent',
          unit: 'ops',
          queries: [
            { expr: 'sum by (path) (rate(auth_email_rate_limit_total[$__rate_interval]))', legend: '{{path}}' },
          ],
        },
      ],
    },
    jobsOf('auth'),
    {
      title: 'Housekeeping',
      panels: [
        {
          title: 'Rows removed by clean-up',
          unit: 'ops',
          queries: [
            {
              expr: 'sum by (table) (rate(auth_cleanup_affected_rows_total[$__rate_interval]))',
              legend: '{{table}}',
            },
          ],
        },
        {
          title: 'Running versions',
          description: 'Two at a time only during an upgrade.',
          unit: 'short',
          queries: [{ expr: 'sum by (version) (auth_version_info)', legend: '{{version}}' }],
        },
      ],
    },
    processesOf('auth'),
  ],
}

/** The dashboard of inventory. */
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
          title: 'Reservations by status',
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
      title: 'Imports and clean-up',
      panels: [
        {
          title: 'Rows of imports',
          unit: 'ops',
          queries: [
            { expr: 'sum by (outcome) (rate(inventory_import_rows_total[$__rate_interval]))', legend: '{{outcome}}' },
          ],
        },
        {
          title: 'Turns of clean-up',
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
