import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A file that pages load. */
export interface Asset {
  readonly type: string
  readonly text: string
}

const CSS = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const TYPES = { 'page.css': CSS, 'pay.css': CSS, 'conclude.js': SCRIPT, 'leave.js': SCRIPT, 'pay.js': SCRIPT } as const

/** Every file that pages load, by its name. They are read once. */
export const assets: ReadonlyMap<string, Asset> = new Map(
  Object.entries(TYPES).map(([name, type]) => [
    name,
    { type, text: readFileSync(join(import.meta.dirname, 'assets', name), 'utf8') },
  ]),
)
