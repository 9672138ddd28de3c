import type { Secrets } from '@trestle/stack/settings/secrets-file.ts'
import type { Load } from './load/load.ts'

/** The loads of one service that are compared with its reference server, and the settings of both. */
export interface Scenario {
  /** Name of the service. */
  readonly service: string
  /** Settings beside those of `npm start`: rate limits off. */
  readonly env: Readonly<Record<string, string>>
  /** Settings of the reference server beside PORT and DATABASE_URL. */
  referenceEnv(secrets: Secrets): Readonly<Record<string, string>>
  /** Makes the data through the service, and returns the loads. */
  prepare(context: ScenarioContext): Promise<readonly Endpoint[]>
}

/** The means by which the data is made. Both servers use the same database, so data made in one is also in the other. */
export interface ScenarioContext {
  /** URL of the service. */
  readonly url: string
  /** Runs a command of the service, such as `seed`. */
  runCommand(...args: readonly string[]): Promise<string>
  /** Runs a statement on the service's database, for rows that would take too long to make one by one. */
  execute(statement: string): Promise<readonly unknown[]>
}

/** One row of the results. */
export interface Endpoint {
  /** Method and path, as shown in the results. */
  readonly name: string
  /** Smallest ratio to the reference: column "now" of the goals. */
  readonly goal: number
  /** Smallest share of the rate of an endpoint that was measured before. */
  readonly ofOther?: { readonly name: string; readonly goal: number }
  /** The load of the next sample of the server at this URL. */
  nextLoad(url: string): Promise<Load>
}
