import { chmodSync, mkdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { findDataDirectory } from '../../packages/stack/src/status/status-file.ts'

mkdirSync(findDataDirectory(), { recursive: true })
const file = `${findDataDirectory()}/shop.db`
const database = new DatabaseSync(file)
chmodSync(file, 0o600) // It has the secret key of the shop's app.
database.exec('CREATE TABLE IF NOT EXISTS objects (id text PRIMARY KEY, owner text, body text)')
const Row = z.object({ body: z.string().transform((text): unknown => JSON.parse(text)) })
const one = database.prepare('SELECT body FROM objects WHERE id = ?')
const all = database.prepare('SELECT body FROM objects WHERE owner = ? ORDER BY rowid DESC LIMIT 20')
const put = database.prepare('INSERT INTO objects VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body')
/** The object with this id: an order, or the account of the shop at payments. */
export const find = (id: string): unknown => Row.optional().parse(one.get(id))?.body
/** The objects of an owner, the newest first. */
export const list = (owner: string): readonly unknown[] => all.all(owner).map((row) => Row.parse(row).body)
/** Inserts or replaces an object, and returns it. */
export function save<Kept extends object>(id: string, owner: string, object: Kept): Kept {
  put.run(id, owner, JSON.stringify(object))
  return object
}
