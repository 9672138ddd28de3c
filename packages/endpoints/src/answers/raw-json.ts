/** JSON text that is sent as it is. So the JSON of a database reaches the client with every digit. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
