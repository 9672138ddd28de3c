import { join } from 'node:path'

/** The members of a command of commander that are read. */
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

/** The commands of a service beside `serve`, without running any. */
export async function commandsOf(service: string): Promise<readonly ListedCommand[]> {
  const folder = join(import.meta.dirname, '../../services', service)
  // A path that the compiler does not follow: it would join the types of three apps in one program.
  const { otherCommands }: Commands = await import(join(folder, 'src/commands/other-commands.ts'))
  const loaders = Object.entries(otherCommands({ load: refuseSettings, now: () => new Date(), process }))
  return Promise.all(loaders.map(([name, load]) => loadNamed(name, load)))
}

/** @throws Error when a command has another name than it is loaded by, so that nobody could call it */
async function loadNamed(name: string, load: () => Promise<ListedCommand>): Promise<ListedCommand> {
  const command = await load()
  if (command.name() !== name) throw new Error(`the command ${command.name()} is loaded by the name ${name}`)
  return command
}
