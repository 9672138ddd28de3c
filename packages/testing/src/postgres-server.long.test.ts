import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { findBinaries } from '@trestle/stack/postgres/home.ts'
import { expect, it } from 'vitest'
import { composeImage, startTestPostgres } from './postgres-server.ts'

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

it('finds the same major version in docker-compose.yml as in the embedded server', () => {
  const { version } = findBinaries(process.platform, process.arch)
  expect(composeImage().split(/[:-]/)[1]).toBe(version.split('.')[0])
})

it('says why an embedded server stands in for a container', async () => {
  const embedded = { url: 'postgres://embedded', host: 'an embedded server', stop: async () => {} }
  const container = () => Promise.reject(new Error('no such image'))
  const env = { DOCKER_HOST: 'tcp://127.0.0.1:1' }
  expect(await startTestPostgres(env, { container, embedded: async () => embedded })).toEqual({
    ...embedded,
    host: `an embedded server, because Docker did not start ${composeImage()}: no such image`,
  })
})
