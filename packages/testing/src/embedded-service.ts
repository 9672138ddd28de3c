import type { Command } from 'commander'

export type Settings = Readonly<Record<string, string>>

/** A service as tests of another one use it. Each call reads the settings. */
export interface EmbeddedService {
  readonly migrate: (settings: Settings) => Promise<unknown>
  /** Builds the service, and starts its background work, as `serve` does. */
  readonly open: (settings: Settings) => Promise<OpenEmbeddedService>
  /** Makes the commands, by their names. */
  readonly commands: (settings: Settings, process: NodeJS.Process) => Readonly<Record<string, () => Promise<Command>>>
}

/** A service that answers in the process of the test once it listens. */
export interface OpenEmbeddedService {
  readonly app: {
    readonly listen: (address: { readonly host: string; readonly port: number }) => Promise<string>
    readonly close: () => PromiseLike<unknown>
    readonly server: { readonly listening: boolean; readonly closeAllConnections: () => void }
  }
  /** Lets the user with an email work as an operator. Only auth has users. */
  readonly assignRole?: (email: string, role: 'viewer' | 'support' | 'admin') => Promise<unknown>
  /** Ends the background work within so many milliseconds, once the app is closed. */
  readonly stopWork: (withinMs: number) => Promise<unknown>
  /** Closes what the app and its work use. */
  readonly close: () => Promise<unknown>
}

/**
 * Loads `embeddedService` of the file test/embedded-service.ts of a service. Its name is known only when this runs, because each service
 * declares types of its own for the same parts of Fastify, which cannot stand beside each other in one program.
 * @param services the folder of all services
 */
export async function loadEmbeddedService(services: URL, name: string): Promise<EmbeddedService> {
  const { embeddedService } = await import(new URL(`${name}/test/embedded-service.ts`, services).href)
  return embeddedService
}
