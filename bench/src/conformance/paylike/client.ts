import { createRequire } from 'node:module'
import { join } from 'node:path'
import { runProgram } from '../../servers/run-program.ts'

/** The methods of the client's promises (Bluebird) that the steps use. */
type Answer<Value> = PromiseLike<Value>

export interface Cursor {
  limit(count: number): Cursor
  batchSize(count: number): Cursor
  before(id: string): Cursor
  after(id: string): Cursor
  since(date: Date): Cursor
  until(date: Date): Cursor
  filter(filter: object): Cursor
  sort(sort: object): Cursor
  keepAlive(delayMs?: number | false): Cursor
  toArray(): Answer<readonly Listed[]>
  /** A pull-stream: it calls its sink with a source. */
  pull(sink: (source: (abort: true | null, next: (end: unknown, item: Listed) => void) => void) => unknown): unknown
}

export interface Listed {
  readonly id: string
  readonly [member: string]: unknown
}

/** The published client of the API for Node.js, every method of it. */
export interface PaylikeClient {
  setKey(key: string): void
  readonly apps: {
    create(values: object): Answer<{ id: string; key: string }>
    findOne(): Answer<Listed>
    readonly merchants: { find(appId: string): Cursor }
  }
  readonly merchants: {
    create(values?: object): Answer<string>
    update(id: string, values: object): Answer<undefined>
    findOne(id: string): Answer<Listed>
    readonly users: Members<{ email: string }>
    readonly apps: Members<{ appId: string }>
    readonly lines: { find(merchantId: string): Cursor }
    readonly transactions: {
      create(merchantId: string, values: object): Answer<string>
      find(merchantId: string): Cursor
    }
  }
  readonly transactions: {
    capture(id: string, values: object, done?: (error: unknown) => void): Answer<undefined>
    refund(id: string, values: object): Answer<undefined>
    void(id: string, values: object): Answer<undefined>
    findOne(id: string): Answer<Listed>
  }
  readonly cards: {
    create(merchantId: string, values: object): Answer<string>
    findOne(id: string): Answer<Listed>
  }
}

interface Members<Value> {
  add(merchantId: string, value: Value): Answer<undefined>
  revoke(merchantId: string, id: string): Answer<undefined>
  find(merchantId: string): Cursor
}

/** The client's classes of errors. */
export type ErrorName =
  | 'Error'
  | 'AuthorizationError'
  | 'PermissionsError'
  | 'NotFoundError'
  | 'ConflictError'
  | 'ValidationError'

/** The exports of the package: it makes a client for a key, and has the classes of its errors. */
export type Paylike = ((key: string | undefined, options: { url: string }) => PaylikeClient) &
  Readonly<Record<ErrorName, new () => { readonly message: string; readonly data?: unknown }>>

const VERSION = '2.0.2'

/** Installs the client into a folder outside the project, from the registry, and loads it from there. */
export async function installPaylike(folder: string): Promise<Paylike> {
  await runProgram({ program: 'npm', args: ['init', '--yes'], cwd: folder })
  await runProgram({ program: 'npm', args: ['install', '--no-audit', '--no-fund', `paylike@${VERSION}`], cwd: folder })
  const paylike: Paylike = createRequire(join(folder, 'package.json'))('paylike')
  return paylike
}
