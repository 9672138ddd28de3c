import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'

const program = `
import { startTestPostgres } from ${JSON.stringify(new URL('postgres-server.ts', import.meta.url).href)}
const server = await startTestPostgres({})
process.exitCode = 3
await server.stop()
`

it('keeps the exit status of the process, so that a failed run of tests fails', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'ignore' })
  expect(await once(child, 'exit')).toEqual([3, null])
})
