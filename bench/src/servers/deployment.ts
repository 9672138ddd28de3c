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

/** The sources and the database of a service. */
export interface DeploymentOptions {
  /** The checkout that contains the service. This one by default. */
  readonly checkout?: string
  /** The folder of logs, secrets and compile caches. */
  readonly folder: string
  readonly databaseUrl: string
  /** Settings in addition to those of the stack. */
  readonly env: Readonly<Record<string, string>>
}

/** A service as in its image: with its sources, a compile cache from `warm-up`, a restricted role, and metrics. */
export interface Deployment {
  readonly secrets: Secrets
  /** Runs a command of the service. @returns its output */
  runCommand(...args: readonly string[]): Promise<string>
  /** Starts another process of the service. The number of threads depends on its cores, as in an image. */
  start(options?: StartOptions): Promise<Server>
}

export interface StartOptions {
  /** By default, the system chooses. */
  readonly cores?: string | undefined
  /** By default, the number of cores of this machine. */
  readonly coreCount?: number
  /** The folder for a CPU profile when the process stops. `undefined` for no profile. */
  readonly profileFolder?: string | undefined
  /** Settings only for this process. */
  readonly env?: Readonly<Record<string, string>>
}

const EXTRA_THREADS = 4

/** Returns the size of Node.js's thread pool, as in the start script of the images. */
export function threadsFor(coreCount: number): string {
  return String(coreCount + EXTRA_THREADS)
}

export function hasService(checkout: string, name: string): boolean {
  return existsSync(entryOf(checkout, name))
}

/**
 * Migrates the database and fills the compile cache, like an image and its first start.
 * @throws Error if the service is unknown
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
  // Each container starts with the image's cache and loses its own additions.
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
  /** The folder of Node.js's compile cache. */
  readonly cache: string
}

/** Returns the environment of a process: that of `npm start`, with free ports and NODE_ENV as in an image. */
export async function findDeployedEnvironment(
  definition: ServiceDefinition,
  options: EnvironmentOptions,
): Promise<Environment> {
  const own = {
    PATH: process.env.PATH ?? '',
    NODE_ENV: 'production',
    [definition.portSetting]: String(await freePort()),
    [`${definition.prefix}OTEL_EXPORTER_PROMETHEUS_PORT`]: String(await freePort()),
    // Processes have different addresses but one public address, because auth refuses tokens of another issuer.
    ...(definition.name === 'auth' && { AUTH_JWT_ISSUER: 'https://auth.example.com' }),
    ...options.env,
  }
  return environmentOf(definition, own, {
    databaseUrl: options.databaseUrl,
    secrets: options.secrets,
    // There is no mail server, because no measured request sends a mail.
    smtpPort: await freePort(),
    homeUrl: 'http://localhost:3000',
    movedLogDirectory: undefined,
    compileCache: options.cache,
  })
}
