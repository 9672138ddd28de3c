import { join } from 'node:path'

/** The members of a commander command that the tests read. */
export interface ListedCommand {
  readonly name: () => string
  readonly description: () => string
  readonly options: readonly { readonly long?: string | undefined }[]
  readonly commands: readonly ListedCommand[]
}

interface Commands {
  readonly otherCommands: (options: {
    readonly load: () => never
    readonly now: () => Date
    readonly process: NodeJS.Process
  }) => Readonly<Record<string, () => Promise<ListedCommand>>>
}

function refuseSettings(): never {
  throw new Error('a list of commands reads no settings')
}

/** The commands of a service except `serve`. None of them runs. */
export async function commandsOf(service: string): Promise<readonly ListedCommand[]> {
  const folder = join(import.meta.dirname, '../../services', service)
  // The compiler does not follow this path. Otherwise it would combine the types of three apps in one program.
  const { otherCommands }: Commands = await import(join(folder, 'src/commands/other-commands.ts'))
  const loaders = Object.entries(otherCommands({ load: refuseSettings, now: () => new Date(), process }))
  return Promise.all(loaders.map(([name, load]) => loadNamed(name, load)))
}

/** @throws Error if a command's name differs from the name by which it is loaded, because nobody could call it */
async function loadNamed(name: string, load: () => Promise<ListedCommand>): Promise<ListedCommand> {
  const command = await load()
  if (command.name() !== name) throw new Error(`the command ${command.name()} is loaded by the name ${name}`)
  return command
}
