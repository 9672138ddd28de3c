import { once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { portOf } from '@trestle/testing/free-port.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { beginUpload } from './begin-upload.ts'
import { openTestConsole, type TestConsole } from './console-app.ts'
import { type RunningService, startService } from './services.ts'

// A browser that leaves has no answer, so these are no tests of a route.

let auth: RunningService
let inventory: RunningService
let test: TestConsole
beforeAll(async () => {
  ;[auth, inventory] = await Promise.all([startService('auth'), startService('inventory')])
  test = await openTestConsole([auth, inventory])
  await test.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await test.close()
  for (const service of [auth, inventory]) await service.stop()
})

const LONG = { timeout: 60_000 }

it('keeps nothing of a file that its operator cancels', async () => {
  const arriving = () => inventory.query(`SELECT FROM inventory.operator_imports WHERE state = 'arriving'`)
  const sent = await beginUpload(test, await test.signedIn('admin'))
  sent.on('error', () => {})
  sent.write('sku,attributes\nA,{}\n')
  await expect.poll(arriving, LONG).toHaveLength(1)
  sent.destroy()
  await expect.poll(arriving, LONG).toEqual([])
  expect(await inventory.query(`SELECT FROM inventory.products WHERE sku = 'A'`)).toEqual([])
})

it('closes an answer of inventory that comes too late for a browser that has left', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  const slow = createServer((_request, response) => asked.resolve(response)).listen(0, '127.0.0.1')
  await once(slow, 'listening')
  const over = await openTestConsole([auth, { name: 'inventory', url: `http://127.0.0.1:${portOf(slow)}` }])
  const { cookies } = await over.signedIn('viewer')
  await over.app.listen({ port: 0 })
  const countBrowsers = promisify(over.app.server.getConnections.bind(over.app.server))
  const cookie = [...cookies].map((each) => each.join('=')).join('; ')
  const download = get({ port: portOf(over.app.server), path: '/products/export', headers: { cookie } })
  download.on('error', () => {})
  const answer = await asked.promise
  download.destroy()
  await expect.poll(() => countBrowsers()).toBe(0)
  const closed = once(answer, 'close')
  answer.writeHead(200, { 'content-type': 'text/csv' }).write('x'.repeat(1_000_000))
  await closed
  expect(answer.writableFinished).toBe(false)
  await over.close()
  slow.close()
})
