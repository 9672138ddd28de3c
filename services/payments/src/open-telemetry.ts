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

/** Starts metrics and traces. `scrub` takes card numbers out of every span. */
export function openPaymentsTelemetry({ server }: Pick<PaymentsConfig, 'server'>): Promise<Telemetry> {
  const resource = { 'service.name': 'payments', 'service.version': VERSION }
  return openTelemetry(server, { resource, scrub })
}

/** Members that the log of this service redacts, beside the members that every service redacts. */
const SECRET_PATHS = ['value', 'card', 'hints', 'iban', 'email', '*.value', '*.card', '*.hints', '*.iban', '*.email']

/** The log of a process. @throws Error naming the file when it cannot be written */
export function createPaymentsLog({ server }: Pick<PaymentsConfig, 'server'>): ServiceLogger {
  return createServiceLog({ level: server.logLevel, file: server.logFile, redact: SECRET_PATHS, scrub })
}

/** Reports the state of the database: its connections, work, rates and books. */
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
  /** The database of the service, without its plugins. */
  readonly db: QueryExecutorProvider
  readonly names: Pick<Names, 'schema'>
}

interface ServerRow {
  /** `10.0.0.2:5432`, as the coordinator knows it. */
  readonly server: string
  readonly isUp: boolean
  /** Parts of tables that are divided over the servers. */
  readonly shards: number
  /** Committed since its statistics began. Null when it does not answer. */
  readonly transactions: number | null
  /** Prepared for longer than a commit takes. Null when it does not answer. */
  readonly inDoubt: number | null
}

/**
 * Reports for each server of the database whether it answers (`db_server_up`), how many parts of tables it holds
 * (`db_server_shards`), what it has committed (`db_server_transactions_total`), and how many two-phase commits are in doubt
 * (`db_server_in_doubt`). Every process reports the same values. A server that is unavailable keeps its last values. Where the database
 * is not distributed, its only server is `single`.
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

/** The answer of a server about itself. One JSON value holds them all, because a statement brings one value back. */
const COUNTS = `SELECT json_build_object(
    'transactions', (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
    'inDoubt', (SELECT count(*) FROM pg_prepared_xacts
      WHERE database = current_database() AND prepared < now() - interval '1 minute'))`
