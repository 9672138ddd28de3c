import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import PostalMime, { type Address } from 'postal-mime'
import { z } from 'zod'
import { StackFailure } from '../stack-failure.ts'

export interface CaughtMail extends MailSummary {
  readonly cc: readonly string[]
  /** All headers, in the order of the mail. Names are in lower case. */
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  /** The plain text. `null` if the mail has none. */
  readonly text: string | null
  /** The HTML as it was sent. `null` if the mail has none. */
  readonly html: string | null
  readonly attachments: readonly { readonly name: string; readonly type: string; readonly bytes: number }[]
}

/** A mail in a list, as `GET /messages` returns it. */
export interface MailSummary {
  /** The number of the mail, from 1 in the order of arrival. */
  readonly id: number
  /** The time of arrival: RFC 3339, UTC. */
  readonly received: string
  readonly from: string
  /** The recipients of the envelope, including recipients in Bcc. */
  readonly to: readonly string[]
  readonly subject: string
  /** The size of the mail as it was sent, in bytes. */
  readonly bytes: number
}

/** The latest mails, kept in memory and, if one is given, in a folder. */
export interface MailStore {
  /** Parses and stores a mail. If a limit is exceeded, the oldest mails are removed. */
  readonly add: (raw: Buffer, recipients: readonly string[]) => Promise<void>
  /** Returns the mails, newest first. */
  readonly list: () => readonly CaughtMail[]
  readonly find: (id: number) => CaughtMail | undefined
  /** Returns the bytes of the mail as they were sent. */
  readonly findSource: (id: number) => Buffer | undefined
  /** Returns whether the page of the mail was never opened. Programs that read the JSON do not mark the mail as read. */
  readonly isUnread: (id: number) => boolean
  readonly markRead: (id: number) => void
  /** Returns `false` if the mail does not exist. */
  readonly remove: (id: number) => boolean
  readonly clear: () => void
}

/** The maximum number of stored mails, and their maximum total size in bytes. The newest mail is always kept. */
export interface MailLimits {
  readonly mailsMax: number
  readonly bytesMax: number
}

const defaultLimits: MailLimits = { mailsMax: 500, bytesMax: 64 * 1024 * 1024 }

interface KeptMail {
  readonly mail: CaughtMail
  readonly source: Buffer
}

interface MailFolder {
  readonly path: string
  /** The mails in the folder, newest first. */
  readonly found: readonly KeptMail[]
}

/**
 * Opens the store of a folder, with the mails that an earlier process stored there. So a restart with other settings loses no
 * mails. All mails count as unread again.
 *
 * @param now the clock for the times of arrival
 * @throws StackFailure if a file in the folder cannot be read as a mail
 */
export async function openMailStore(path: string, now: () => Date, limits = defaultLimits): Promise<MailStore> {
  const names = existsSync(path) ? readdirSync(path) : []
  const ids = names.flatMap((name) => /^([1-9]\d{0,9})\.json$/.exec(name)?.[1] ?? []).map(Number)
  const found = await Promise.all(ids.sort((a, b) => b - a).map((id) => loadMail(path, id)))
  return createMailStore(now, limits, { path, found })
}

/** Creates an empty store, or the store of a folder. @param now the clock for the times of arrival */
export function createMailStore(now: () => Date, limits: MailLimits = defaultLimits, folder?: MailFolder): MailStore {
  let kept: readonly KeptMail[] = folder?.found ?? []
  let lastId = kept[0]?.mail.id ?? 0
  const replaceKept = (next: readonly KeptMail[]): void => {
    if (folder) for (const { mail } of kept.filter((old) => !next.includes(old))) removeFile(folder.path, mail.id)
    kept = next
  }
  const read = new Set<number>()
  const entryOf = (id: number) => kept.find(({ mail }) => mail.id === id)
  return {
    add: async (raw: Buffer, recipients: readonly string[]): Promise<void> => {
      lastId += 1
      const head = { id: lastId, received: now().toISOString(), to: recipients, bytes: raw.length }
      const added = { mail: await readMail(raw, head), source: raw }
      if (folder) saveMail(folder.path, added)
      replaceKept(within([added, ...kept], limits))
    },
    list: (): readonly CaughtMail[] => kept.map(({ mail }) => mail),
    find: (id: number): CaughtMail | undefined => entryOf(id)?.mail,
    findSource: (id: number): Buffer | undefined => entryOf(id)?.source,
    isUnread: (id: number): boolean => !read.has(id),
    markRead: (id: number): void => void read.add(id),
    remove: (id: number): boolean => {
      const left = kept.filter(({ mail }) => mail.id !== id)
      const isFound = left.length < kept.length
      replaceKept(left)
      return isFound
    },
    clear: (): void => {
      replaceKept([])
    },
  }
}

/** Returns the members of a mail that a list shows. */
export function summaryOf({ id, received, from, to, subject, bytes }: CaughtMail): MailSummary {
  return { id, received, from, to, subject, bytes }
}

async function readMail(raw: Buffer, head: Pick<CaughtMail, 'id' | 'received' | 'to' | 'bytes'>): Promise<CaughtMail> {
  const parsed = await PostalMime.parse(raw)
  return {
    ...head,
    from: parsed.from ? formatAddress(parsed.from) : '',
    cc: (parsed.cc ?? []).map(formatAddress),
    subject: parsed.subject ?? '',
    headers: parsed.headers.map(({ key, value }) => ({ name: key, value })),
    text: parsed.text ?? null,
    html: parsed.html ?? null,
    attachments: parsed.attachments.map(({ filename, mimeType, content }) => ({
      name: filename ?? '',
      type: mimeType,
      bytes: typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength,
    })),
  }
}

function formatAddress({ name, address, group }: Address): string {
  if (group) return group.map(formatAddress).join(', ')
  return name ? `${name} <${address}>` : address
}

const MailFile = z.object({ received: z.string(), to: z.array(z.string()), source: z.base64() })
type MailFile = z.infer<typeof MailFile>

const fileOf = (folder: string, id: number): string => join(folder, `${id}.json`)

async function loadMail(folder: string, id: number): Promise<KeptMail> {
  const { received, to, source: encoded } = readMailFile(fileOf(folder, id))
  const source = Buffer.from(encoded, 'base64')
  return { mail: await readMail(source, { id, received, to, bytes: source.length }), source }
}

function readMailFile(file: string): MailFile {
  try {
    return MailFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    throw new StackFailure([`${file} cannot be read as a mail. Remove the file.`], { cause })
  }
}

/** Writes the file atomically, so that no incomplete mail remains. Mails contain codes: only the owner may read them. */
function saveMail(folder: string, { mail: { id, received, to }, source }: KeptMail): void {
  // Create the folder again, because it may have been removed with all other data while the stack runs.
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const text = JSON.stringify({ received, to, source: source.toString('base64') })
  writeFileSync(`${fileOf(folder, id)}.new`, text, { mode: 0o600, flush: true })
  renameSync(`${fileOf(folder, id)}.new`, fileOf(folder, id))
}

function removeFile(folder: string, id: number): void {
  rmSync(fileOf(folder, id), { force: true })
}

/** Returns the mails within the limits. The newest mail is always kept. The SMTP listener limits the size of a mail. */
function within(entries: readonly KeptMail[], limits: MailLimits): readonly KeptMail[] {
  let bytes = 0
  return entries.slice(0, limits.mailsMax).filter(({ source }, index) => {
    bytes += source.length
    return index === 0 || bytes <= limits.bytesMax
  })
}
