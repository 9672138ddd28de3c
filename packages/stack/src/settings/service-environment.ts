import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { type Environment, portFrom } from './environment.ts'
import type { Secrets } from './secrets-file.ts'
import { type ServiceDefinition, services } from './services.ts'

/** Threads of Node's pool beyond the cores: those that wait for files and names need none. */
const EXTRA_THREADS = 4
/** Node would let the young heap grow to 128 MiB. With this bound a loaded service is a third smaller, and as fast. */
const NODE_OPTIONS = '--max-semi-space-size=8'
/** Of glibc: buffers from 64 KiB go back to the system as soon as they are free. Else what a burst has taken stays taken. */
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_ARENA_MAX: '2' }
/** Settings that services also read without their prefix, beside PORT and DATABASE_URL. */
const unprefixed = ['API_EXTERNAL_URL', 'OTEL_EXPORTER_PROMETHEUS_HOST']
const LOOPBACK = '127.0.0.1'

/** Where a service answers. */
export interface ServiceAddress {
  readonly host: string
  readonly port: number
  readonly url: string
  /** Undefined when the user has switched the metrics off, or has them pushed. */
  readonly metrics: { readonly host: string; readonly port: number; readonly setting: string } | undefined
}

/** What all services get beside their own defaults. */
export interface SharedSettings {
  readonly databaseUrl: string
  readonly secrets: Secrets
  readonly smtpPort: number
  /** Folder of Node's compile cache. */
  readonly compileCache: string
}

/** Where the service will answer, from the user's settings and the defaults. */
export function addressOf(service: ServiceDefinition, env: Environment): ServiceAddress {
  const { portSetting, portAlias = portSetting } = service
  const port = portFrom(env, env[portSetting] ? portSetting : portAlias, service.port)
  const { metricsHost, metricsPort, metricsSwitch, metricsExporter } = metricsSettings(service)
  const isMetricsOff = /^(false|f|0|no|n)$/i.test(env[metricsSwitch] ?? '')
  const arePushed = /^opentelemetry$/i.test(env[metricsExporter] ?? '')
  const metrics = {
    host: env[metricsHost] || LOOPBACK,
    port: portFrom(env, metricsPort, service.metricsPort),
    setting: metricsPort,
  }
  return {
    host: env[service.hostSetting] || LOOPBACK,
    port,
    url: `http://localhost:${port}`,
    metrics: isMetricsOff || arePushed ? undefined : metrics,
  }
}

/**
 * The environment of a service: the stack's development defaults, over them what the user has set. Settings of the
 * other services are left out, so none sees another's secrets.
 */
export function environmentOf(service: ServiceDefinition, env: Environment, shared: SharedSettings): Environment {
  const foreign = services.filter(({ prefix }) => prefix !== service.prefix).map(({ prefix }) => prefix)
  const own = Object.entries(env).filter(([name]) => !foreign.some((prefix) => name.startsWith(prefix)))
  return { ...defaultsOf(service, env, shared), ...Object.fromEntries(own) }
}

/** The settings that the stack gives where the user has set nothing. */
function defaultsOf(service: ServiceDefinition, env: Environment, shared: SharedSettings): Environment {
  const { url, port } = addressOf(service, env)
  const { metricsHost, metricsPort, metricsSwitch, metricsExporter } = metricsSettings(service)
  const defaults: Environment = {
    DATABASE_URL: shared.databaseUrl,
    UV_THREADPOOL_SIZE: String(availableParallelism() + EXTRA_THREADS),
    NODE_OPTIONS,
    ...ALLOCATOR,
    NODE_COMPILE_CACHE: shared.compileCache,
    [service.hostSetting]: LOOPBACK,
    [service.portSetting]: String(port),
    [`${service.prefix}DB_ROLE`]: `${service.name}_service`,
    [metricsSwitch]: 'true',
    [metricsExporter]: 'prometheus',
    [metricsHost]: LOOPBACK,
    [metricsPort]: String(service.metricsPort),
    ...service.defaults({ url, secrets: shared.secrets, smtpPort: shared.smtpPort }),
  }
  // A prefixed default would beat the name without prefix, by which the user has set the same.
  const beaten = unprefixed.filter((name) => env[name]).map((name) => `${service.prefix}${name}`)
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => !beaten.includes(name)))
}

function metricsSettings({ prefix }: ServiceDefinition) {
  return {
    metricsSwitch: `${prefix}METRICS_ENABLED`,
    metricsExporter: `${prefix}METRICS_EXPORTER`,
    metricsHost: `${prefix}OTEL_EXPORTER_PROMETHEUS_HOST`,
    metricsPort: `${prefix}OTEL_EXPORTER_PROMETHEUS_PORT`,
  }
}

/**
 * Writes the settings of a service for its other commands, as in `pnpm auth -c .data/auth.env migrate status`. Holds
 * secrets: readable by its owner alone.
 */
export function writeEnvFile(file: string, env: Environment, isWanted: (name: string) => boolean): void {
  const lines = Object.entries(env)
    .filter(([name]) => isWanted(name))
    .map(([name, value]) => `${name}=${quote(value)}\n`)
  writeFileSync(file, `# Written by npm start at every start.\n${lines.join('')}`, { mode: 0o600 })
}

/** Single quotes are literal. Text that holds one, or a line break, goes in double quotes. */
function quote(value: string): string {
  if (!/['\n]/.test(value)) return `'${value}'`
  return `"${value.replaceAll('\n', '\\n')}"`
}
