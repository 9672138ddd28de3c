/** JSON that is text already: it is sent as it is. So a database's own JSON reaches the client digit by digit. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
