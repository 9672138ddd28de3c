import { jobsOf, processesOf, requestsOf, standbyOf } from './common-sections.ts'
import type { Dashboard, Section } from './dashboard.ts'

/** Money on its way from a card to a bank account. */
const money: readonly Section[] = [
  {
    title: 'Authorizations',
    panels: [
      {
        title: 'Authorizations by outcome',
        unit: 'ops',
        queries: [
          {
            expr: 'sum by (scheme, outcome) (rate(payments_authorizations_total[$__rate_interval]))',
            legend: '{{scheme}} {{outcome}}',
          },
        ],
      },
      {
        title: 'Calls of acquirers, 99th percentile',
        unit: 's',
        queries: [
          {
            expr: 'histogram_quantile(0.99, sum by (acquirer, call, le) (rate(payments_acquirer_seconds_bucket[$__rate_interval])))',
            legend: '{{acquirer}} {{call}}',
          },
        ],
      },
      {
        title: 'Open work with acquirers',
        description: 'The service asks about unknown outcomes for a day. After that, use `payments attempts`.',
        unit: 'short',
        queries: [
          { expr: 'max(payments_attempts_unknown)', legend: 'outcome unknown' },
          { expr: 'max(payments_acquirer_exceptions_open)', legend: 'exceptions' },
          { expr: 'max by (state) (payments_acquirer_tasks)', legend: 'task {{state}}' },
        ],
      },
    ],
  },
  {
    title: 'Money',
    panels: [
      {
        title: 'Captures, refunds and voids',
        unit: 'ops',
        queries: [
          {
            expr: 'sum by (kind, outcome) (rate(payments_operations_total[$__rate_interval]))',
            legend: '{{kind}} {{outcome}}',
          },
          {
            expr: 'sum by (kind) (rate(payments_operation_conflicts_total[$__rate_interval]))',
            legend: '{{kind}} waited too long for a lock',
          },
        ],
      },
      {
        title: 'Journals that were booked',
        unit: 'ops',
        queries: [
          { expr: 'sum by (kind) (rate(payments_ledger_journals_total[$__rate_interval]))', legend: '{{kind}}' },
        ],
      },
      {
        title: 'Payouts',
        description: 'Payout turns of merchants: paid, or why not.',
        unit: 'ops',
        queries: [{ expr: 'sum by (outcome) (rate(payments_payouts_total[$__rate_interval]))', legend: '{{outcome}}' }],
      },
    ],
  },
  {
    title: 'Ledger and rates',
    panels: [
      {
        title: 'Violations in the last ledger verify',
        description: 'Must be 0.',
        unit: 'short',
        queries: [{ expr: 'max(payments_ledger_imbalance)', legend: 'violations' }],
      },
      {
        title: 'Time since the ledger was verified',
        unit: 's',
        queries: [{ expr: 'time() - max(payments_ledger_verified_timestamp_seconds)', legend: 'since then' }],
      },
      {
        title: 'Age of the oldest exchange rate, days',
        unit: 'short',
        queries: [{ expr: 'max(payments_fx_rate_age_days)', legend: 'oldest' }],
      },
    ],
  },
]

/** Attempts to deliver to webhooks, and refused callers. */
const guards: readonly Section[] = [
  {
    title: 'Events and mails',
    panels: [
      {
        title: 'Attempts to deliver to webhooks',
        unit: 'ops',
        queries: [
          {
            expr: 'sum by (outcome, reason) (rate(payments_webhook_attempts_total[$__rate_interval]))',
            legend: '{{outcome}} {{reason}}',
          },
        ],
      },
      {
        title: 'Invitations by mail',
        unit: 'ops',
        queries: [{ expr: 'sum by (outcome) (rate(payments_mail_total[$__rate_interval]))', legend: '{{outcome}}' }],
      },
    ],
  },
  {
    title: 'Access',
    panels: [
      {
        title: 'Requests refused by a rate limit',
        unit: 'ops',
        queries: [
          { expr: 'sum by (scope) (rate(payments_rate_limited_total[$__rate_interval]))', legend: '{{scope}}' },
        ],
      },
      {
        title: 'Requests without a valid key',
        unit: 'ops',
        queries: [{ expr: 'sum(rate(payments_auth_failures_total[$__rate_interval]))', legend: 'requests' }],
      },
      {
        title: 'Card numbers opened',
        description: 'By purpose. Look into a rise that authorizations do not explain.',
        unit: 'ops',
        queries: [
          { expr: 'sum by (purpose) (rate(payments_vault_opens_total[$__rate_interval]))', legend: '{{purpose}}' },
        ],
      },
    ],
  },
]

/** The panels about the servers that have the rows. */
const servers: Section = {
  title: 'Servers of the database',
  panels: [
    {
      title: 'Servers that answer',
      description: 'Merchants on a server that is away get 503, others go on.',
      unit: 'short',
      queries: [{ expr: 'max by (server) (db_server_up)', legend: '{{server}}' }],
    },
    {
      title: 'Parts of tables, by server',
      description: 'Where the database is distributed. `payments distribute --rebalance` makes them alike.',
      unit: 'short',
      queries: [{ expr: 'max by (server) (db_server_shards)', legend: '{{server}}' }],
    },
    {
      title: 'Transactions, by server',
      description: 'One server far above the others has a large merchant: `payments distribute --isolate`.',
      unit: 'ops',
      queries: [
        {
          expr: 'max by (server) (rate(db_server_transactions_total[$__rate_interval]))',
          legend: '{{server}}',
        },
      ],
    },
    {
      title: 'Two-phase commits in doubt',
      description: 'Must be 0. `SELECT recover_prepared_transactions()` on the coordinator ends them.',
      unit: 'short',
      queries: [{ expr: 'max by (server) (db_server_in_doubt)', legend: '{{server}}' }],
    },
  ],
}

/** The dashboard of payments. */
export const payments: Dashboard = {
  uid: 'trestle-payments',
  title: 'Trestle: payments',
  sections: [
    requestsOf('payments'),
    ...money,
    jobsOf('payments'),
    ...guards,
    processesOf('payments'),
    standbyOf('payments'),
    servers,
  ],
}
