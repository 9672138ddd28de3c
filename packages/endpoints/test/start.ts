import { Application, type ApplicationOptions, Controller } from '../src/endpoints.ts'

/** The URLs of an application that has started, and its warnings. */
interface Started {
  readonly urls: readonly string[]
  readonly warnings: readonly string[]
}

/** Starts an application. @throws Error when it refuses its controllers */
export async function start(options: ApplicationOptions): Promise<Started> {
  const warnings: string[] = []
  const log = { warn: (message: string) => void warnings.push(message), error: () => {} }
  const app = await new Application({ log, ...options }).ready()
  return { urls: app.routes().map(({ pattern }) => pattern), warnings }
}

/** A controller that answers GET. */
export class Foo extends Controller {
  GET() {}
}
/** Another one, which has no name. */
export const anonymous = () => class extends Foo {}
