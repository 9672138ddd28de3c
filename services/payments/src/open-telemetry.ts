import type { Meter } from '@opentelemetry/api'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { openTelemetry, type Telemetry } from '@trestle/common/telemetry/open-telemetry.ts'
import type { Database } from '@trestle/database/connect.ts'
import { observeJobs, observeOutbox } from '@trestle/jobs/observe-jobs.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'
import { createServiceLog } from '@trestle/service/create-service-log.ts'
import { observeConnections } from '@trestle/service/observe-connections.ts'
import { observeAcquiring } from './acquirers/acquirer-jobs.ts'
import { scrub } from './cards/scrub.ts'
import type { PaymentsConfig } from './config.ts'
import type { PaymentsTables } from './database.ts'
import { observeLedger } from './ledger/verification.ts'
import { observeRates } from './money/rate-repository.ts'
import { observeServers } from './placement/observe-servers.ts'
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

/** Reports what only the database knows: its connections, work, rates and books. */
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
