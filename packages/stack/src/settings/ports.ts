import { StackFailure } from '../stack-failure.ts'
import type { Environment } from './environment.ts'

/**
 * The ports by setting: the usual port, and the distance from `TRESTLE_PORT_BASE`, which moves all ports. PostgreSQL is below the
 * range for outgoing connections, because a closing connection may keep a port of that range for a minute.
 */
const ports = {
  INVENTORY_PORT: { usual: 8080, distance: 0 },
  AUTH_API_PORT: { usual: 8081, distance: 1 },
  PAYMENTS_PORT: { usual: 8082, distance: 2 },
  TRESTLE_HOME_PORT: { usual: 8083, distance: 3 },
  MAIL_WEB_PORT: { usual: 8025, distance: 4 },
  MAIL_SMTP_PORT: { usual: 1025, distance: 5 },
  TRESTLE_DATABASE_PORT: { usual: 15_432, distance: 6 },
  AUTH_OTEL_EXPORTER_PROMETHEUS_PORT: { usual: 9100, distance: 7 },
  PAYMENTS_OTEL_EXPORTER_PROMETHEUS_PORT: { usual: 9101, distance: 8 },
  INVENTORY_OTEL_EXPORTER_PROMETHEUS_PORT: { usual: 9102, distance: 9 },
  CONSOLE_PORT: { usual: 8084, distance: 10 },
  CONSOLE_OTEL_EXPORTER_PROMETHEUS_PORT: { usual: 9103, distance: 11 },
} as const

/** A setting of the stack that names a port. */
export type PortSetting = keyof typeof ports

/** Returns the default of a port setting. */
export function usualPort(setting: PortSetting): number {
  return ports[setting].usual
}

const PORT_MAX = 65_535
const BASE = 'TRESTLE_PORT_BASE'
const distances = Object.values(ports).map(({ distance }) => distance)
/** The largest base for which the last port is still valid. */
const BASE_MAX = PORT_MAX - Math.max(...distances)

/** Returns all ports of a stack with this `TRESTLE_PORT_BASE`. */
export function portsFromBase(base: number): readonly number[] {
  return distances.map((distance) => base + distance)
}

/**
 * Returns a port from its own setting or its alias, otherwise from `TRESTLE_PORT_BASE`, otherwise the usual port.
 *
 * @throws StackFailure unless the setting is a number from 1 to 65535, because the stack must know the port
 */
export function portFrom(env: Environment, setting: PortSetting, alias: string = setting): number {
  const { usual, distance } = ports[setting]
  const named = [setting, alias].find((name) => env[name])
  if (named !== undefined) return readPort(env, named, PORT_MAX)
  return env[BASE] ? readPort(env, BASE, BASE_MAX) + distance : usual
}

/** Returns whether the port of a setting is derived from `TRESTLE_PORT_BASE`. */
export function isCountedFromBase(env: Environment, setting: PortSetting, alias: string = setting): boolean {
  return Boolean(env[BASE]) && !env[setting] && !env[alias]
}

/**
 * Returns the paragraph of `--help` about ports. It lists each setting with its usual port and its port for
 * `TRESTLE_PORT_BASE=20000`.
 */
export function describePorts(): string {
  const example = 20_000
  const width = Math.max(...Object.keys(ports).map((name) => name.length)) + 2
  const rows = Object.entries(ports).map(
    ([name, { usual, distance }]) => `  ${name.padEnd(width)}${String(usual).padStart(5)}  ${example + distance}`,
  )
  return `
Ports:
  ${BASE} in the environment or .env moves all of them.
  A setting of a single port wins.

  ${'Setting'.padEnd(width)}Usual  With ${BASE}=${example}
${rows.join('\n')}`
}

function readPort(env: Environment, setting: string, max: number): number {
  const text = env[setting] ?? ''
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= max) return port
  throw new StackFailure([`config: ${setting} must be a port from 1 to ${max} (got "${text}")`])
}
