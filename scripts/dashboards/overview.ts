import type { Dashboard } from './dashboard.ts'

const COUNT = 'http_server_request_duration_seconds_count'
const NO_CHECKS = 'http_route!~"/ready|/health"'

/** All services side by side: whether something is wrong, and where to look next. */
export const overview: Dashboard = {
  uid: 'trestle-overview',
  title: 'Trestle',
  sections: [
    {
      title: 'Is anything wrong?',
      panels: [
        {
          title: 'Processes that answer',
          unit: 'short',
          queries: [{ expr: 'sum by (job) (up{job=~"auth|payments|inventory"})', legend: '{{job}}' }],
        },
        {
          title: 'Not ready',
          description: 'Processes that take no requests, by the check that fails.',
          unit: 'short',
          queries: [{ expr: 'sum by (job, check) (1 - service_ready)', legend: '{{job}} {{check}}' }],
        },
        {
          title: 'Share of 5xx',
          description: 'A 5xx is a defect or a named outage.',
          unit: 'percentunit',
          queries: [
            {
              expr: `(sum by (job) (rate(${COUNT}{http_response_status_code=~"5..",${NO_CHECKS}}[$__rate_interval])) or sum by (job) (rate(${COUNT}[$__rate_interval])) * 0) / sum by (job) (rate(${COUNT}[$__rate_interval]))`,
              legend: '{{job}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Load',
      panels: [
        {
          title: 'Requests',
          unit: 'reqps',
          queries: [{ expr: `sum by (job) (rate(${COUNT}{${NO_CHECKS}}[$__rate_interval]))`, legend: '{{job}}' }],
        },
        {
          title: '99th percentile',
          unit: 's',
          queries: [
            {
              expr: `histogram_quantile(0.99, sum by (job, le) (rate(http_server_request_duration_seconds_bucket{${NO_CHECKS}}[$__rate_interval])))`,
              legend: '{{job}}',
            },
          ],
        },
        {
          title: 'Median',
          unit: 's',
          queries: [
            {
              expr: `histogram_quantile(0.5, sum by (job, le) (rate(http_server_request_duration_seconds_bucket{${NO_CHECKS}}[$__rate_interval])))`,
              legend: '{{job}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Database and background work',
      panels: [
        {
          title: 'Connections in use, and requests that wait for one',
          unit: 'short',
          queries: [
            { expr: 'sum by (job) (db_pool_connections{state="used"})', legend: '{{job}} in use' },
            { expr: 'sum by (job) (db_pool_connections{state="waiting"})', legend: '{{job}} waiting' },
          ],
        },
        {
          title: 'Oldest job that is due',
          unit: 's',
          queries: [{ expr: 'max by (job) (jobs_oldest_due_seconds)', legend: '{{job}}' }],
        },
        {
          title: 'Dead jobs',
          unit: 'short',
          queries: [{ expr: 'sum by (job) (max by (job, task) (jobs_dead))', legend: '{{job}}' }],
        },
      ],
    },
    {
      title: 'Machine',
      panels: [
        {
          title: 'Processor',
          unit: 'percentunit',
          queries: [
            {
              expr: 'sum by (job, instance) (rate(process_cpu_seconds_total[$__rate_interval]))',
              legend: '{{job}} {{instance}}',
            },
          ],
        },
        {
          title: 'Memory',
          unit: 'bytes',
          queries: [{ expr: 'sum by (job, instance) (process_resident_memory_bytes)', legend: '{{job}} {{instance}}' }],
        },
        {
          title: 'Event loop delay, 99th percentile',
          unit: 's',
          queries: [{ expr: 'max by (job) (nodejs_eventloop_lag_p99_seconds)', legend: '{{job}}' }],
        },
      ],
    },
  ],
}
