import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { keepsSettings } from './session-check.ts'

const temporary = await createEmptyDatabase()
afterAll(() => temporary.drop())

/** Takes connections to the server. @param begin is given what a client says first @returns the URL that leads here */
async function stand(begin: (client: Socket, startup: Buffer) => void): Promise<string> {
  const listener = createServer((client) => {
    client.on('error', () => {})
    client.once('data', (startup: Buffer) => begin(client, startup))
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  onTestFinished(() => void listener.close())
  const address = listener.address()
  const port = typeof address === 'object' && address ? String(address.port) : ''
  return Object.assign(new URL(temporary.directUrl), { hostname: '127.0.0.1', port }).href
}

/** As PgBouncer does where `ignore_startup_parameters` names `options`. */
function dropOptions(client: Socket, startup: Buffer): void {
  const parameters = Buffer.from(startup.toString('latin1', 8).replace(/options\0[^\0]*\0/, ''), 'latin1')
  const head = Buffer.from(startup.subarray(0, 8))
  head.writeInt32BE(head.length + parameters.length)
  const { hostname, port } = new URL(temporary.directUrl)
  const server = connect(Number(port || 5432), hostname)
  server.on('error', () => client.destroy())
  server.write(Buffer.concat([head, parameters]))
  client.pipe(server).pipe(client)
}

/** As PgBouncer does with parameters that it does not know. */
function refuseOptions(client: Socket): void {
  const fields = Buffer.from('SFATAL\0C08P01\0Munsupported startup parameter: options\0\0')
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(4 + fields.length, 1)
  client.end(Buffer.concat([head, fields]))
}

it('finds a session of the server to keep its settings', async () => {
  expect(await keepsSettings(temporary.directUrl)).toBe(true)
})

it.each([
  ['drops', dropOptions],
  ['refuses', refuseOptions],
])('finds that a pooler %s them', async (_how, begin) => {
  expect(await keepsSettings(await stand(begin))).toBe(false)
})

it('takes nothing else for a pooler', async () => {
  await expect(keepsSettings('postgres://nobody@127.0.0.1:1/none')).rejects.toThrow('ECONNREFUSED')
})
