import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { createFirstOperator } from './first-operator.ts'
import { StackFailure } from './stack-failure.ts'

removeFoldersAtEnd()

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** The responses of auth to the creation of the user, and to the operator's sign-in. */
interface Answers {
  readonly user: number
  readonly signIn?: readonly [status: number, body: object]
}

/** Creates a checkout in which auth is a stub that records the arguments of its command. */
async function openCheckout({ user, signIn = [400, {}] }: Answers) {
  const root = createFolder()
  mkdirSync(join(root, 'services/auth/src'), { recursive: true })
  const script = `require('node:fs').writeFileSync('called.json', JSON.stringify(process.argv.slice(2)))`
  writeFileSync(join(root, 'services/auth/src/main.ts'), script)
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url ?? '')
    request.resume()
    const [status, body] = request.url === '/admin/users' ? [user, {}] : signIn
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const status = {
    AUTH_URL: `http://127.0.0.1:${port}`,
    SERVICE_ROLE_KEY: 'service',
    CONSOLE_EMAIL: 'operator@example.com',
    CONSOLE_PASSWORD: 'secret',
  }
  const called = (): unknown => {
    try {
      return JSON.parse(readFileSync(join(root, 'called.json'), 'utf8'))
    } catch {
      return undefined
    }
  }
  return { place: { status, root, dataDirectory: '/data' }, paths, called }
}

const GIVES_ROLE = ['-c', '/data/auth.env', 'users', 'assign-role', 'operator@example.com', 'admin']

describe('createFirstOperator', () => {
  it('makes a user of auth with the console role admin', async () => {
    const { place, called, paths } = await openCheckout({ user: 200 })
    await createFirstOperator(place)
    expect([paths, called()]).toEqual([['/admin/users'], GIVES_ROLE])
  })

  it('gives the role to a user whom an interrupted start has left without a role', async () => {
    const { place, called } = await openCheckout({ user: 422, signIn: [200, { user: { app_metadata: {} } }] })
    await createFirstOperator(place)
    expect(called()).toEqual(GIVES_ROLE)
  })

  it('leaves an operator with a role as they are', async () => {
    const user = { app_metadata: { console_role: 'admin' } }
    const { place, called } = await openCheckout({ user: 422, signIn: [200, { user }] })
    await createFirstOperator(place)
    expect(called()).toBeUndefined()
  })

  it('leaves an operator with another password as they are', async () => {
    const { place, called } = await openCheckout({ user: 422, signIn: [400, { code: 'invalid_credentials' }] })
    await createFirstOperator(place)
    expect(called()).toBeUndefined()
  })

  it('sends no request where the console was not started', async () => {
    const { place, paths } = await openCheckout({ user: 200 })
    const { CONSOLE_EMAIL: _email, CONSOLE_PASSWORD: _password, ...status } = place.status
    await createFirstOperator({ ...place, status })
    expect(paths).toEqual([])
  })

  it('says what auth has answered when it makes no user', async () => {
    const { place } = await openCheckout({ user: 500 })
    await expect(createFirstOperator(place)).rejects.toThrow(
      new StackFailure(['The operator of the console was not made: auth answered 500 {}']),
    )
  })
})
