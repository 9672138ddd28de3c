import type { Section } from './dashboard.ts'

const REQUESTS = 'http_server_request_duration_seconds'
/** Health checks would be most of the requests on a quiet service. */
const NO_CHECKS = 'http_route!~"/ready|/health"'

/** Requests as clients see them. */
export function requestsOf(job: string): Section {
  const of = (suffix: string, more = '') =>
    `rate(${REQUESTS}_${suffix}{job="${job}",${NO_CHECKS}${more}}[$__rate_interval])`
  return {
    title: 'Requests',
    panels: [
      {
        title: 'Requests by route',
        unit: 'reqps',
        queries: [
          {
            expr: `sum by (http_request_method, http_route) (${of('count')})`,
            legend: '{{http_request_method}} {{http_route}}',
          },
        ],
      },
      {
        title: '99th percentile by route',
        unit: 's',
        queries: [
          {
            expr: `histogram_quantile(0.99, sum by (http_request_method, http_route, le) (${of('bucket')}))`,
            legend: '{{http_request_method}} {{http_route}}',
          },
        ],
      },
      {
        title: 'Answers by status',
        description: '499: the client left before its answer. A 5xx is a defect or a named outage.',
        unit: 'reqps',
        queries: [
          {
            expr: `sum by (http_response_status_code) (${of('count')})`,
            legend: '{{http_response_status_code}}',
          },
        ],
      },
    ],
  }
}

/** The processes of a service and their database connections. */
export function processesOf(job: string): Section {
  return {
    title: 'Processes',
    panels: [
      {
        title: 'Ready',
        description: 'Below 1, a process takes no requests, and its line says why.',
        unit: 'short',
        queries: [{ expr: `min by (instance, check) (service_ready{job="${job}"})`, legend: '{{instance}} {{check}}' }],
      },
      {
        title: 'Database connections',
        description: 'Waiting above 0 for long: the pool is too small, or the database too slow.',
        unit: 'short',
        queries: [{ expr: `sum by (pool, state) (db_pool_connections{job="${job}"})`, legend: '{{state}} {{pool}}' }],
      },
      {
        title: 'Memory',
        unit: 'bytes',
        queries: [{ expr: `process_resident_memory_bytes{job="${job}"}`, legend: '{{instance}}' }],
      },
    ],
  }
}

/** The standby of a service; empty where none is set. */
export function standbyOf(job: string): Section {
  return {
    title: 'Standby',
    panels: [
      {
        title: 'How far the standby is behind',
        description: 'Beyond the limit of a setting, lists are read from the primary.',
        unit: 's',
        queries: [{ expr: `max by (instance) (db_standby_lag_seconds{job="${job}"})`, legend: '{{instance}}' }],
      },
      {
        title: 'Reads that may lag, by the server that answered',
        unit: 'ops',
        queries: [
          {
            expr: `sum by (server) (rate(db_standby_reads_total{job="${job}"}[$__rate_interval]))`,
            legend: '{{server}}',
          },
        ],
      },
    ],
  }
}

/** Background work of a service. */
export function jobsOf(job: string): Section {
  return {
    title: 'Background work',
    panels: [
      {
        title: 'Jobs done',
        unit: 'ops',
        queries: [
          {
            expr: `sum by (task, outcome) (rate(jobs_total{job="${job}"}[$__rate_interval]))`,
            legend: '{{task}} {{outcome}}',
          },
        ],
      },
      {
        title: 'Jobs waiting, and dead',
        description: 'Dead jobs are not tried again; the log and doctor say why.',
        unit: 'short',
        queries: [
          { expr: `max by (task) (jobs_queued{job="${job}"})`, legend: '{{task}}' },
          { expr: `max by (task) (jobs_dead{job="${job}"})`, legend: '{{task}} dead' },
        ],
      },
      {
        title: 'Age of the oldest job that is due',
        description: 'More than some seconds: there are too few workers, or they hang.',
        unit: 's',
        queries: [
          { expr: `max by (task) (jobs_oldest_due_seconds{job="${job}"})`, legend: '{{task}}' },
          { expr: `max(jobs_outbox_oldest_seconds{job="${job}"})`, legend: 'on its way to the queue' },
        ],
      },
    ],
  }
}
