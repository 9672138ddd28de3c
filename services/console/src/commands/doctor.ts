import { type Check, checkSettings, runChecks } from '@trestle/common/commands/run-checks.ts'
import type { ConsoleConfig } from '../config.ts'
import { SERVICE_NAMES, type ServiceName } from '../service-calls/service-call.ts'
import { createServiceClient } from '../service-calls/service-client.ts'

/** Checks everything that the console needs, and prints a line for each check. Resolves to false when a check fails. */
export async function doctor(load: () => ConsoleConfig, print: (line: string) => void): Promise<boolean> {
  const config = checkSettings(load, print)
  if (config === undefined) return false
  for (const warning of config.warnings) print(`note  ${warning}`)
  const checks = SERVICE_NAMES.flatMap((service) => {
    const access = config.services[service]
    return access === undefined ? [] : [serviceCheck(service, access.url)]
  })
  return runChecks(checks, config, print)
}

/**
 * Checks whether each service answers and has operator keys: it answers 401 to a request without a token, and 404 if it has
 * no keys.
 */
function serviceCheck(service: ServiceName, url: string): Check<ConsoleConfig> {
  return {
    name: service,
    advice: `start ${service}, correct CONSOLE_${service.toUpperCase()}_URL, or set ${service.toUpperCase()}_OPERATOR_KEYS of ${service}`,
    run: async () => {
      const { send } = createServiceClient({ [service]: url })
      const { status } = await send({ service, method: 'GET', path: '/operator/me', headers: {} })
      if (status === 404) throw new Error('has no operator keys')
      return 'answers, and has operator keys'
    },
  }
}
