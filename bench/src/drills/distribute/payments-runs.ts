import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { DistributeOptions } from '@trestle/citus/distribute.ts'
import { z } from 'zod'
import { PASSWORD } from '../../servers/citus-cluster.ts'

export const ROLE = 'payments_service'

export interface Release {
  /** Runs a command in a separate process. @returns its output @throws Error with its last lines if it fails */
  run(url: string, words: readonly string[]): Promise<string>
  /** Runs a command in this process, which is faster. @returns its output @throws Error if it fails */
  runHere(url: string, words: readonly string[]): Promise<string>
  distributeOptions(url: string): DistributeOptions
}

const keys = { pepper: randomBytes(32).toString('base64'), vault: `1:${randomBytes(32).toString('base64')}` }

interface Command {
  parseAsync(words: readonly string[], from: { readonly from: 'user' }): Promise<unknown>
}

type Loaders = Readonly<Record<string, () => Promise<Command>>>
type Settings = Readonly<Record<string, string>>

const isFunction = (value: unknown) => typeof value === 'function'
const Commands = z.object({
  otherCommands:
    z.custom<
      (options: {
        readonly load: () => unknown
        readonly now: () => Date
        readonly process: { readonly stdout: { write(text: string): void } }
      }) => Loaders
    >(isFunction),
})
const Distribute = z.object({ distributeOptions: z.custom<(config: unknown) => DistributeOptions>(isFunction) })
const Config = z.object({ loadPaymentsConfig: z.custom<(settings: Settings, file: object) => unknown>(isFunction) })

/** Opens the release of a checkout with installed packages. */
export async function openRelease(checkout: string): Promise<Release> {
  const source = join(checkout, 'services/payments/src')
  const { otherCommands } = Commands.parse(await import(join(source, 'commands/other-commands.ts')))
  const { distributeOptions } = Distribute.parse(await import(join(source, 'commands/distribute.ts')))
  const { loadPaymentsConfig } = Config.parse(await import(join(source, 'config.ts')))
  const noFile = { path: join(checkout, 'no.env'), isRequired: false }
  const load = (url: string) => loadPaymentsConfig(settingsOf(url), noFile)
  return {
    run: async (url, words) => {
      const args = [join(source, 'main.ts'), ...words]
      const { stdout } = await promisify(execFile)(process.execPath, args, { env: settingsOf(url), maxBuffer: 2 ** 26 })
      return stdout
    },
    runHere: async (url, [name = '', ...words]) => {
      const printed: string[] = []
      const loadCommand = otherCommands({
        load: () => load(url),
        now: () => new Date(),
        process: { stdout: { write: (text) => void printed.push(text) } },
      })[name]
      if (loadCommand === undefined) throw new Error(`payments has no command ${name}`)
      await (await loadCommand()).parseAsync(words, { from: 'user' })
      return printed.join('')
    },
    distributeOptions: (url) => distributeOptions(load(url)),
  }
}

function settingsOf(url: string): Settings {
  return {
    PAYMENTS_DATABASE_URL: url,
    PAYMENTS_BASE_URL: 'http://localhost',
    PAYMENTS_PEPPER: keys.pepper,
    PAYMENTS_VAULT_KEYS: keys.vault,
    PAYMENTS_DB_ROLE: ROLE,
    PAYMENTS_NODE_PASSWORD: PASSWORD,
    PAYMENTS_ALLOW_SEED: 'yes',
  }
}
