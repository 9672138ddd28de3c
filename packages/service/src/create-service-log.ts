import { createLogger, type LoggerConfig, type ServiceLogger } from '@trestle/common/telemetry/logger.ts'

const ROW_PATHS = ['err.detail', 'err.where']

/**
 * Creates the log of a service on PostgreSQL. It redacts rows that database errors quote.
 * @throws Error with the name of the file, if it cannot be written
 */
export function createServiceLog(config: LoggerConfig): ServiceLogger {
  return createLogger({ ...config, redact: [...ROW_PATHS, ...(config.redact ?? [])] })
}
