import type { Command } from 'commander'

export type Settings = Readonly<Record<string, string>>

/** A service in the form in which tests of another service use it. Each call reads the settings. */
export interface EmbeddedService {
  readonly migrate: (settings: Settings) => Promise<unknown>
  /** Builds the service and starts its background work, like `serve`. */
  readonly open: (settings: Settings) => Promise<OpenEmbeddedService>
  /** Creates the commands, by name. */
  readonly commands: (settings: Settings, process: NodeJS.Process) => Readonly<Record<string, () => Promise<Command>>>
}

/** A service that runs in the process of the test. It answers requests when it listens. */
export interface OpenEmbeddedService {
  readonly app: {
    readonly listen: (address: { readonly host: string; readonly port: number }) => Promise<string>
    readonly close: () => PromiseLike<unknown>
    readonly server: { readonly listening: boolean; readonly closeAllConnections: () => void }
  }
  /** Lets the user with this email work as an operator. Only auth has users. */
  readonly assignRole?: (email: string, role: 'viewer' | 'support' | 'admin') => Promise<unknown>
  /** Ends the background work within `withinMs` milliseconds, after the app is closed. */
  readonly stopWork: (withinMs: number) => Promise<unknown>
  /** Closes the resources of the app and its background work. */
  readonly close: () => Promise<unknown>
}

/**
 * Imports `embeddedService` from the file `test/embedded-service.ts` of a service. The import is dynamic, because each service
 * declares its own types for the same parts of Fastify. One TypeScript program cannot contain several of these declarations.
 * @param services the folder of all services
 */
export async function loadEmbeddedService(services: URL, name: string): Promise<EmbeddedService> {
  const { embeddedService } = await import(new URL(`${name}/test/embedded-service.ts`, services).href)
  return embeddedService
}
