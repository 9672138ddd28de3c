import type { Meter } from '@opentelemetry/api'
import { isDistributed } from '@trestle/citus/citus.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { openTelemetry, type Telemetry } from '@trestle/common/telemetry/open-telemetry.ts'
import type { Database } from '@trestle/database/connect.ts'
import { observeJobs, observeOutbox } from '@trestle/jobs/observe-jobs.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { createServiceLog } from '@trestle/service/create-service-log.ts'
import { observeConnections } from '@trestle/service/observe-connections.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { observeAcquiring } from './acquirers/acquirer-jobs.ts'
import { scrub } from './cards/scrub.ts'
import type { PaymentsConfig } from './config.ts'
import type { PaymentsTables } from './database.ts'
import { observeLedger } from './ledger/ledger-repository.ts'
import { observeRates } from './money/rate-repository.ts'
import { VERSION } from './version.ts'

/** Starts metrics and traces. `scrub` removes card numbers from every span. */
export function openPaymentsTelemetry({ server }: Pick<PaymentsConfig, 'server'>): Promise<Telemetry> {
  const resource = { 'service.name': 'payments', 'service.version': VERSION }
  return openTelemetry(server, { resource, scrub })
}

/** Fields that the log of this service redacts, in addition to the fields that every service redacts. */
const SECRET_PATHS = ['value', 'card', 'hints', 'iban', 'email', '*.value', '*.card', '*.hints', '*.iban', '*.email']

/** Creates the log of a process. @throws Error that names the log file if it cannot be written */
export function createPaymentsLog({ server }: Pick<PaymentsConfig, 'server'>): ServiceLogger {
  return createServiceLog({ level: server.logLevel, file: server.logFile, redact: SECRET_PATHS, scrub })
}

/** Reports metrics of the database: connections, work, exchange rates and books. */
export function observeDatabase(meter: Meter, database: Database<PaymentsTables>, tasks: readonly AnyTask[]): void {
  const { db } = database
  const schema = database.names.jobSchema
  observeConnections(meter, database)
  observeServers(meter, { db: db.withoutPlugins(), names: database.names })
  observeAcquiring(meter, { db, schema })
  observeJobs(meter, { db, schema, tasks })
  observeOutbox(meter, { db, writtenAt: 'created' })
  observeRates(meter, db)
  observeLedger(meter, db)
}

interface ObservedServers {
  /** The database of the service, without Kysely plugins. */
  readonly db: QueryExecutorProvider
  readonly names: Pick<Names, 'schema'>
}

interface ServerRow {
  /** The address of the server as the coordinator uses it, such as `10.0.0.2:5432`. */
  readonly server: string
  readonly isUp: boolean
  /** The number of shards on the server. */
  readonly shards: number
  /** Transactions committed since the server's statistics began. `null` if the server does not answer. */
  readonly transactions: number | null
  /** Transactions that have been prepared for longer than a commit takes. `null` if the server does not answer. */
  readonly inDoubt: number | null
}

/**
 * Reports for each server whether it answers (`db_server_up`), its number of shards (`db_server_shards`), its committed
 * transactions (`db_server_transactions_total`), and its two-phase commits in doubt (`db_server_in_doubt`). Every process reports
 * the same values. An unavailable server keeps its last values. Without distribution, the only server is `single`.
 */
export function observeServers(meter: Meter, { db, names }: ObservedServers): void {
  const up = meter.createObservableGauge('db_server_up', { description: '1 if the server answers' })
  const shards = meter.createObservableGauge('db_server_shards', { description: 'Parts of tables on each server' })
  const transactions = meter.createObservableCounter('db_server_transactions_total', {
    description: 'Transactions that each server has committed',
  })
  const inDoubt = meter.createObservableGauge('db_server_in_doubt', {
    description: 'Two-phase commits of which a server has not heard the end for a minute',
  })
  meter.addBatchObservableCallback(
    async (result) => {
      for (const row of await readServers(db, names)) {
        const labels = { server: row.server }
        result.observe(up, Number(row.isUp), labels)
        result.observe(shards, row.shards, labels)
        if (row.transactions !== null) result.observe(transactions, row.transactions, labels)
        if (row.inDoubt !== null) result.observe(inDoubt, row.inDoubt, labels)
      }
    },
    [up, shards, transactions, inDoubt],
  )
}

async function readServers(db: QueryExecutorProvider, names: Pick<Names, 'schema'>): Promise<readonly ServerRow[]> {
  if (!(await isDistributed(db, names))) {
    const { rows } = await sql<ServerRow>`
      SELECT 'single' AS server, true AS "isUp", 0 AS shards, (c.counts ->> 'transactions')::float8 AS transactions,
        (c.counts ->> 'inDoubt')::int AS "inDoubt"
      FROM (${sql.raw(COUNTS)}) c (counts)`.execute(db)
    return rows
  }
  const { rows } = await sql<ServerRow>`
    SELECT n.nodename || ':' || n.nodeport AS server, r.success AS "isUp", count(d.logicalrelid)::int AS shards,
      (r.counts ->> 'transactions')::float8 AS transactions, (r.counts ->> 'inDoubt')::int AS "inDoubt"
    FROM (
      SELECT nodeid, success, CASE WHEN success THEN result::jsonb END AS counts
      FROM run_command_on_all_nodes(${COUNTS})
    ) r JOIN pg_dist_node n ON n.nodeid = r.nodeid
    LEFT JOIN pg_dist_placement p ON p.groupid = n.groupid
    LEFT JOIN pg_dist_shard s ON s.shardid = p.shardid
    LEFT JOIN pg_dist_partition d ON d.logicalrelid = s.logicalrelid AND d.partmethod = 'h'
    GROUP BY n.nodename, n.nodeport, r.success, r.counts`.execute(db)
  return rows
}

/** Each server reports its counts as one JSON value, because the statement returns only one value per server. */
const COUNTS = `SELECT json_build_object(
    'transactions', (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
    'inDoubt', (SELECT count(*) FROM pg_prepared_xacts
      WHERE database = current_database() AND prepared < now() - interval '1 minute'))`
