import { StackFailure } from '../stack-failure.ts'
import type { Environment } from './environment.ts'

/**
 * The ports of the stack, by their settings: the usual one, and the distance from `TRESTLE_PORT_BASE`, which moves all of them.
 * PostgreSQL is below the ports that the system uses for outgoing connections: such a port may be closing for a minute.
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

/** The port of a stack whose user has set none. */
export function usualPort(setting: PortSetting): number {
  return ports[setting].usual
}

const PORT_MAX = 65_535
const BASE = 'TRESTLE_PORT_BASE'
const distances = Object.values(ports).map(({ distance }) => distance)
/** The largest base whose last port still exists. */
const BASE_MAX = PORT_MAX - Math.max(...distances)

/** All ports of a stack with this `TRESTLE_PORT_BASE`. */
export function portsFromBase(base: number): readonly number[] {
  return distances.map((distance) => base + distance)
}

/**
 * Reads a port from the settings: from its own setting, or from another name of it, else counted from `TRESTLE_PORT_BASE`, else
 * the usual one.
 *
 * @throws StackFailure unless it is a number from 1 to 65535: the stack must know the port
 */
export function portFrom(env: Environment, setting: PortSetting, alias: string = setting): number {
  const { usual, distance } = ports[setting]
  const named = [setting, alias].find((name) => env[name])
  if (named !== undefined) return readPort(env, named, PORT_MAX)
  return env[BASE] ? readPort(env, BASE, BASE_MAX) + distance : usual
}

/** Whether `TRESTLE_PORT_BASE` decides the port of a setting. */
export function isCountedFromBase(env: Environment, setting: PortSetting, alias: string = setting): boolean {
  return Boolean(env[BASE]) && !env[setting] && !env[alias]
}

/**
 * The paragraph of `--help` about ports: a line for each setting, its usual port, and its port with
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
