import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Environment } from './environment.ts'
import { type PortSetting, portFrom } from './ports.ts'
import type { Secrets } from './secrets-file.ts'
import { type ServiceDefinition, services } from './services.ts'

/** Threads of Node's pool in addition to the number of cores, for waits on files and name lookups. */
const EXTRA_THREADS = 4
/**
 * By default, Node lets the young generation of the heap grow to 128 MiB. With this limit a busy service uses a third less memory
 * and is equally fast.
 */
const NODE_OPTIONS = '--max-semi-space-size=8'
/**
 * Settings of glibc. Freed buffers of 64 KiB and more return to the system. Otherwise the process would keep the memory of a
 * burst.
 */
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_ARENA_MAX: '2' }
const LOOPBACK = '127.0.0.1'
const METRICS_HOST = 'OTEL_EXPORTER_PROMETHEUS_HOST'

export interface ServiceAddress {
  readonly host: string
  readonly port: number
  readonly url: string
  /** `undefined` if metrics are disabled or pushed. */
  readonly metrics: { readonly host: string; readonly port: number; readonly setting: PortSetting } | undefined
}

/** The settings of all services, in addition to their own defaults. */
export interface SharedSettings {
  readonly databaseUrl: string
  readonly secrets: Secrets
  readonly smtpPort: number
  readonly homeUrl: string
  readonly movedLogDirectory: string | undefined
  /** The folder of Node's compile cache. */
  readonly compileCache: string
}

/**
 * Returns the addresses of a service from the settings of the user and the defaults.
 * @throws StackFailure unless each port is a number from 1 to 65535, because the stack must know the port
 */
export function addressOf(service: ServiceDefinition, env: Environment): ServiceAddress {
  const port = portFrom(env, service.portSetting, service.portAlias)
  const { metricsSwitch, metricsExporter } = metricsSettings(service)
  const isMetricsOff = /^(false|f|0|no|n)$/i.test(env[metricsSwitch] ?? '')
  const arePushed = /^opentelemetry$/i.test(env[metricsExporter] ?? '')
  const metrics = {
    host: env[METRICS_HOST] || LOOPBACK,
    port: portFrom(env, service.metricsPortSetting),
    setting: service.metricsPortSetting,
  }
  return {
    host: env[service.hostSetting] || LOOPBACK,
    port,
    url: `http://localhost:${port}`,
    metrics: isMetricsOff || arePushed ? undefined : metrics,
  }
}

/**
 * Returns the environment of a service: the development defaults of the stack and the settings of the user, which take
 * precedence. Settings of other services are omitted, so that no service gets the secrets of another service.
 * @throws StackFailure unless each port is a number from 1 to 65535
 */
export function environmentOf(service: ServiceDefinition, env: Environment, shared: SharedSettings): Environment {
  const foreign = services.filter(({ prefix }) => prefix !== service.prefix).map(({ prefix }) => prefix)
  const own = Object.entries(env).filter(([name]) => !foreign.some((prefix) => name.startsWith(prefix)))
  return { ...defaultsOf(service, env, shared), ...Object.fromEntries(own) }
}

/** Returns the defaults that the stack sets unless the user has set a value. */
function defaultsOf(service: ServiceDefinition, env: Environment, shared: SharedSettings): Environment {
  const { url, port } = addressOf(service, env)
  const { metricsSwitch, metricsExporter } = metricsSettings(service)
  const defaults: Environment = {
    ...(service.databaseSetting === undefined
      ? {}
      : { DATABASE_URL: shared.databaseUrl, [`${service.prefix}DB_ROLE`]: `${service.name}_service` }),
    UV_THREADPOOL_SIZE: String(availableParallelism() + EXTRA_THREADS),
    NODE_OPTIONS,
    ...ALLOCATOR,
    NODE_COMPILE_CACHE: shared.compileCache,
    [service.hostSetting]: LOOPBACK,
    [service.portSetting]: String(port),
    [metricsSwitch]: 'true',
    [metricsExporter]: 'prometheus',
    ...(!env[METRICS_HOST] && { [METRICS_HOST]: LOOPBACK }),
    [service.metricsPortSetting]: String(portFrom(env, service.metricsPortSetting)),
    ...service.defaults({ ...shared, env, url, urls: urlsOf(env) }),
  }
  // A default with the prefix would take precedence over the user's setting without prefix, so omit it.
  const beaten = env.API_EXTERNAL_URL && `${service.prefix}API_EXTERNAL_URL`
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => name !== beaten))
}

function urlsOf(env: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(services.map((service) => [service.name, addressOf(service, env).url]))
}

function metricsSettings({ prefix }: ServiceDefinition) {
  return {
    metricsSwitch: `${prefix}METRICS_ENABLED`,
    metricsExporter: `${prefix}METRICS_EXPORTER`,
  }
}

/** Settings that a service reads without its prefix. */
const UNPREFIXED: readonly string[] = [
  'DATABASE_URL',
  'LOG_LEVEL',
  'NODE_ENV',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'PGCONNECT_TIMEOUT',
  METRICS_HOST,
]

/** Returns whether a setting belongs into the env file of the service with this prefix. */
export function isReadBy(name: string, prefix: string): boolean {
  return name.startsWith(prefix) || UNPREFIXED.includes(name)
}

/**
 * Writes the settings of a service to a file for its other commands, as in `pnpm auth -c .data/auth.env migrate status`. The file
 * contains secrets, so only its owner may read it.
 */
export function writeEnvFile(file: string, env: Environment, isWanted: (name: string) => boolean): void {
  const lines = Object.entries(env)
    .filter(([name]) => isWanted(name))
    .map(([name, value]) => `${name}=${quote(value)}\n`)
  writeFileSync(file, `# Written by npm start at every start.\n${lines.join('')}`, { mode: 0o600 })
}

/** Quotes a value. Single quotes keep the text unchanged. A text with a single quote or a line break gets double quotes. */
function quote(value: string): string {
  if (!/['\n]/.test(value)) return `'${value}'`
  return `"${value.replaceAll('\n', '\\n')}"`
}
