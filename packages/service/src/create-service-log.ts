import { createLogger, type LoggerConfig, type ServiceLogger } from '@trestle/common/telemetry/logger.ts'

const ROW_PATHS = ['err.detail', 'err.where']

/**
 * Makes the log of a service on PostgreSQL. It shows no rows that an error of the database quotes.
 * @throws Error naming the file when it cannot be written
 */
export function createServiceLog(config: LoggerConfig): ServiceLogger {
  return createLogger({ ...config, redact: [...ROW_PATHS, ...(config.redact ?? [])] })
}
