import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Half of the time until the first line is printed goes into compiling what has not changed since the last start.
const root = join(import.meta.dirname, '..', '..', '..')
enableCompileCache(join(root, 'node_modules', '.cache', 'node'))
const { runStackCommand } = await import('./command.ts')
await runStackCommand(root, process)
