// The console, the web page for the people who run Laneway: docs/guides/console.md, docs/adr/0049.
import { render } from 'preact'
import { App } from './app.tsx'
import { followDemo } from './parts/demo.tsx'
import { applyTheme } from './shell.tsx'
import { followLive } from './state/live.ts'
import { followLinks } from './state/router.ts'
import { findSession } from './state/session.ts'
import './style/base.css'
import './style/layout.css'
import './style/parts.css'
import './style/tables.css'
import './style/pages.css'

const root = document.getElementById('console')
if (!root) throw new Error('index.html has no place for the console')
applyTheme()
followLinks()
followLive()
followDemo()
render(<App />, root)
await findSession()
