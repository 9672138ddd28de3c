import type { Meter } from '@opentelemetry/api'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { openTelemetry, type Telemetry } from '@trestle/common/telemetry/open-telemetry.ts'
import type { Database } from '@trestle/database/connect.ts'
import { observeJobs, observeOutbox } from '@trestle/jobs/observe-jobs.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'
import { createServiceLog } from '@trestle/service/create-service-log.ts'
import { observeConnections } from '@trestle/service/observe-connections.ts'
import type { AuthConfig } from './config.ts'
import type { AuthTables } from './database.ts'
import type { PasswordHasherOptions } from './passwords/password-hasher.ts'
import { VERSION } from './version.ts'

/** The release is in `service.version` and, as in supabase/auth, in `auth.version` (reference: Traces). */
export function openAuthTelemetry({ server }: Pick<AuthConfig, 'server'>): Promise<Telemetry> {
  const { serviceName } = server
  const resource = { 'service.name': serviceName, 'service.version': VERSION, 'auth.version': VERSION }
  return openTelemetry(server, { resource })
}

/** The log of a process. @throws Error with the file name if the file cannot be written */
export function createAuthLog({ server }: Pick<AuthConfig, 'server'>): ServiceLogger {
  return createServiceLog({ level: server.logLevel, file: server.logFile, base: { component: 'api' } })
}

export function observeDatabase(meter: Meter, database: Database<AuthTables>, tasks: readonly AnyTask[]): void {
  const { db } = database
  observeConnections(meter, database)
  observeJobs(meter, { db, schema: database.names.jobSchema, tasks })
  observeOutbox(meter, { db, writtenAt: 'created_at' })
}

/** Reports that the process serves, with its version. */
export function observeProcess(meter: Meter): void {
  const running = meter.createObservableGauge('auth_running', { description: '1 while the process serves' })
  running.addCallback((result) => result.observe(1))
  const version = meter.createObservableGauge('auth_version_info', { description: 'The running release' })
  version.addCallback((result) => result.observe(1, { version: VERSION }))
}

/** Counts password hashes that are created and verified, when submitted and when completed. */
export function countHashing(meter: Meter): NonNullable<PasswordHasherOptions['onWork']> {
  const counters = {
    hash: {
      submitted: meter.createCounter('auth_password_hash_submitted_total', { description: 'Hashes asked for' }),
      completed: meter.createCounter('auth_password_hash_completed_total', { description: 'Hashes made' }),
    },
    verify: {
      submitted: meter.createCounter('auth_password_compare_submitted_total', { description: 'Comparisons asked for' }),
      completed: meter.createCounter('auth_password_compare_completed_total', { description: 'Comparisons made' }),
    },
  }
  return ({ kind, alg }, stage) => counters[kind][stage].add(1, { alg })
}
