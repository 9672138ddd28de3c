import pg from 'pg'

export interface WatchedRow {
  readonly at: Date
  readonly row: Readonly<Record<string, unknown>>
}

/** The state of a row; `none` for a row that has ended. */
type StateOf = (row: WatchedRow) => string

/** The events of rows, by name. */
type Events<Subject> = Readonly<Record<string, (subject: Subject) => Promise<unknown>>>

/** Tables whose changes are recorded. */
export interface WatchedRows {
  /** Changes all rows of a table by SQL, as time would. @param text what follows UPDATE and the name of the table */
  change(table: string, text: string): Promise<void>
  /**
   * Lets each event happen to empty tables after each way, which is a list of events.
   * @param begin makes what the events of one way happen to
   * @returns by the table, the arrows between two states that rows went through, each once, sorted
   */
  explore<Subject>(
    events: Events<Subject>,
    ways: readonly (readonly string[])[],
    begin: () => Promise<Subject>,
  ): Promise<ReadonlyMap<string, readonly string[]>>
  close(): Promise<void>
}

interface Change {
  readonly at: Date
  readonly place: string
  readonly before: WatchedRow['row'] | null
  readonly after: WatchedRow['row'] | null
}

/** Whether the moment of a column has come, which may be null. */
export const hasCome = (moment: unknown, { at }: WatchedRow): boolean =>
  moment !== null && Date.parse(String(moment)) <= at.getTime()

/**
 * Records each change of the rows of some tables from now on, by a trigger.
 * @param states the state of a row, by the table
 */
export async function watchRows(url: string, states: Readonly<Record<string, StateOf>>): Promise<WatchedRows> {
  const entries = Object.entries(states)
  const tables = entries.map(([table]) => table)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await recordChanges(client, tables)
  const presentStates = async () => {
    const found: string[] = []
    for (const [table, stateOf] of entries) {
      const text = `SELECT clock_timestamp() AS at, to_jsonb(t) AS row FROM ${table} t`
      found.push(...(await client.query<WatchedRow>(text)).rows.map(stateOf).sort(), ';')
    }
    return found.join()
  }
  const follow = async <Subject>(
    events: Events<Subject>,
    way: readonly string[],
    begin: () => Promise<Subject>,
  ): Promise<{ readonly subject: Subject; readonly states: string }> => {
    // A trigger would note a deleted row as one that has ended.
    await client.query(`TRUNCATE ${tables.join()} CASCADE`)
    const subject = await begin()
    for (const name of way) await events[name]?.(subject)
    return { subject, states: await presentStates() }
  }
  return {
    change: async (table, text) => void (await client.query(`UPDATE ${table} ${text}`)),
    explore: async (events, ways, begin) => {
      for (const way of ways) {
        let place = await follow(events, way, begin)
        for (const happen of Object.values(events)) {
          await happen(place.subject)
          if ((await presentStates()) !== place.states) place = await follow(events, way, begin)
        }
      }
      return readArrows(client, entries)
    },
    close: () => client.end(),
  }
}

async function recordChanges(client: pg.Client, tables: readonly string[]): Promise<void> {
  await client.query(`
    CREATE TABLE public.changes (at timestamptz, place text, before jsonb, after jsonb);
    CREATE FUNCTION public.note_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      INSERT INTO public.changes VALUES (clock_timestamp(), TG_ARGV[0], to_jsonb(OLD), to_jsonb(NEW));
      RETURN NULL;
    END $$`)
  for (const table of tables) {
    await client.query(`
      CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON ${table}
      FOR EACH ROW EXECUTE FUNCTION public.note_change('${table}')`)
  }
}

/** The changes of state that the rows of each table went through, as arrows of its diagram. */
async function readArrows(
  client: pg.Client,
  entries: readonly (readonly [string, StateOf])[],
): ReturnType<WatchedRows['explore']> {
  const { rows } = await client.query<Change>('SELECT at, place, before, after FROM public.changes')
  const through = (table: string, stateOf: StateOf) =>
    rows
      .filter(({ place }) => place === table)
      .map(({ at, before, after }) => [before, after].map((row) => (row === null ? 'none' : stateOf({ at, row }))))
      .filter(([from, to]) => from !== to)
      .map((ends) => ends.join(' --> '))
  return new Map(entries.map(([table, stateOf]) => [table, [...new Set(through(table, stateOf))].sort()]))
}
