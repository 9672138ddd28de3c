import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createBenchFolder } from './program.ts'
import { type DatabaseServer, execute, openDatabaseServer } from './servers/database.ts'
import { type Deployment, deploy, type StartOptions } from './servers/deployment.ts'
import type { Server } from './servers/server.ts'

/** A folder, a PostgreSQL server, and services that use it. They end with the program, in reverse order. */
export interface Bench extends AsyncDisposable {
  readonly folder: string
  readonly database: DatabaseServer
  deploy(
    service: string,
    options?: {
      readonly env?: Readonly<Record<string, string>>
      /** Default: `trestle_bench_` with the name of the service. */
      readonly databaseName?: string
    },
  ): Promise<BenchService>
  /** Registers a function that runs before everything that was started earlier ends. */
  defer(end: () => unknown): void
}

export interface BenchService extends Deployment {
  readonly databaseUrl: string
  /** Runs a statement on the service's database. */
  execute(statement: string): Promise<readonly unknown[]>
  /** Starts a process, which ends with the bench. */
  serve(options?: StartOptions): Promise<Server>
}

/**
 * Opens a bench on the server in BENCH_DATABASE_URL, or on its own PostgreSQL server.
 * @param options `isOwn` requires its own server, because the program kills or damages the server
 */
export async function openBench({ isOwn = false }: { readonly isOwn?: boolean } = {}): Promise<Bench> {
  const folder = createBenchFolder()
  const started = new AsyncDisposableStack()
  started.defer(() => rmSync(folder, { recursive: true, force: true }))
  const url = isOwn ? undefined : process.env.BENCH_DATABASE_URL
  const database = await openDatabaseServer({ url, folder: join(folder, 'postgres') })
  started.defer(database.close)
  return {
    folder,
    database,
    deploy: async (service, { env = {}, databaseName = `trestle_bench_${service}` } = {}) => {
      const databaseUrl = await database.create(databaseName)
      const deployment = await deploy(service, { folder, databaseUrl, env })
      return {
        ...deployment,
        databaseUrl,
        execute: (statement) => execute(databaseUrl, statement),
        serve: async (options) => {
          const server = await deployment.start(options)
          started.defer(server.stop)
          return server
        },
      }
    },
    defer: (end) => {
      started.defer(async () => {
        await end()
      })
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}
