import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Environment } from '@trestle/stack/settings/environment.ts'
import { loadSecrets, type Secrets } from '@trestle/stack/settings/secrets-file.ts'
import { environmentOf } from '@trestle/stack/settings/service-environment.ts'
import { type ServiceDefinition, services } from '@trestle/stack/settings/services.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { ROOT } from '../program.ts'
import { runProgram } from './run-program.ts'
import { type Server, startServer } from './server.ts'

/** The sources and the database that a service runs with. */
export interface DeploymentOptions {
  /** The checkout from which the service starts. Default: this one. */
  readonly checkout?: string
  /** Holds logs, secrets and compile caches. */
  readonly folder: string
  readonly databaseUrl: string
  /** Settings in addition to the stack's own. */
  readonly env: Readonly<Record<string, string>>
}

/** A service as an image runs it: its sources, a compile cache filled by `warm-up`, a restricted role, metrics on. */
export interface Deployment {
  readonly secrets: Secrets
  /** Runs a command of the service. @returns what it printed */
  runCommand(...args: readonly string[]): Promise<string>
  /** Starts another process of the service. Its threads follow the number of its cores, as in an image. */
  start(options?: StartOptions): Promise<Server>
}

export interface StartOptions {
  /** Default: the system chooses. */
  readonly cores?: string | undefined
  /** Default: the number of cores of this machine. */
  readonly coreCount?: number
  /** The folder in which the process leaves a CPU profile when it stops; undefined: none is made. */
  readonly profileFolder?: string | undefined
  /** Settings of this process alone. */
  readonly env?: Readonly<Record<string, string>>
}

const EXTRA_THREADS = 4

/** The size of Node's thread pool, as the start script of the images sets it. */
export function threadsFor(coreCount: number): string {
  return String(coreCount + EXTRA_THREADS)
}

export function hasService(checkout: string, name: string): boolean {
  return existsSync(entryOf(checkout, name))
}

/**
 * Migrates the database and fills the compile cache, as an image and its first start do.
 * @throws Error for an unknown service
 */
export async function deploy(name: string, options: DeploymentOptions): Promise<Deployment> {
  const definition = services.find((service) => service.name === name)
  if (definition === undefined) throw new Error(`there is no service "${name}"`)
  const folder = join(options.folder, name)
  const caches = { image: join(folder, 'image-cache'), running: join(folder, 'cache') }
  mkdirSync(folder, { recursive: true })
  const secrets = loadSecrets(join(folder, 'secrets.env'))
  const entry = entryOf(options.checkout ?? ROOT, name)
  const run = async (cache: string, args: readonly string[]) => {
    const env = await findDeployedEnvironment(definition, { ...options, secrets, cache })
    return runProgram({ program: process.execPath, args: [entry, ...args], env, cwd: folder })
  }
  // A container loses its additions to the cache: each one starts from the image's cache.
  const startFromImage = () => {
    rmSync(caches.running, { recursive: true, force: true })
    cpSync(caches.image, caches.running, { recursive: true })
  }
  await run(caches.image, ['warm-up'])
  startFromImage()
  await run(caches.running, ['migrate'])
  return {
    secrets,
    runCommand: (...args) => run(caches.running, args),
    start: async ({ cores, coreCount = availableParallelism(), profileFolder, env: own } = {}) => {
      startFromImage()
      const settings = { ...options, env: { ...options.env, ...own } }
      const env = await findDeployedEnvironment(definition, { ...settings, secrets, cache: caches.running })
      return startServer({
        name,
        args: [...profiling(profileFolder), entry, 'serve'],
        env: { ...env, UV_THREADPOOL_SIZE: threadsFor(coreCount) },
        cwd: folder,
        cores,
        url: `http://127.0.0.1:${env[definition.portSetting]}`,
        signs: ['/health', '/ready'],
      })
    },
  }
}

function profiling(folder: string | undefined): readonly string[] {
  return folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`]
}

function entryOf(checkout: string, name: string): string {
  return join(checkout, 'services', name, 'src', 'main.ts')
}

export interface EnvironmentOptions extends Pick<DeploymentOptions, 'databaseUrl' | 'env'> {
  readonly secrets: Secrets
  /** The folder of Node's compile cache. */
  readonly cache: string
}

/** The environment of a process: free ports, and otherwise the settings of `npm start`, with NODE_ENV as in an image. */
export async function findDeployedEnvironment(
  definition: ServiceDefinition,
  options: EnvironmentOptions,
): Promise<Environment> {
  const own = {
    PATH: process.env.PATH ?? '',
    NODE_ENV: 'production',
    [definition.portSetting]: String(await freePort()),
    [`${definition.prefix}OTEL_EXPORTER_PROMETHEUS_PORT`]: String(await freePort()),
    // Processes have addresses of their own, but one public address: auth refuses tokens of another issuer.
    ...(definition.name === 'auth' && { AUTH_JWT_ISSUER: 'https://auth.example.com' }),
    ...options.env,
  }
  return environmentOf(definition, own, {
    databaseUrl: options.databaseUrl,
    secrets: options.secrets,
    // No mail server listens there: no measured request sends a mail.
    smtpPort: await freePort(),
    homeUrl: 'http://localhost:3000',
    movedLogDirectory: undefined,
    compileCache: options.cache,
  })
}
