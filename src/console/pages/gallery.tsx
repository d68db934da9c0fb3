// The gallery: folders, their files, and the trash.
import { useState } from 'preact/hooks'
import type { FileJson, FolderJson } from '../../producer/api/gallery/routes.ts'
import { countText } from '../logic/numbers.ts'
import { Age, Empty, Page, Shown } from '../parts/page.tsx'
import { More, useRows } from '../parts/pager.tsx'
import { Said } from '../parts/text.tsx'
import { useLoad } from '../state/load.ts'
import { place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { FileTable } from './gallery/file-table.tsx'
import { NewFolder, RenameFolder, Upload } from './gallery/folder-actions.tsx'
import { listFiles, listFolders } from './gallery/lists.ts'

/** The page; `?folder=` chooses one, `?trash=true` what was thrown away. */
export function Gallery() {
  const { query } = place.value
  const trash = query.get('trash') === 'true'
  const folders = useLoad('folders', listFolders)
  const all = folders.value ?? []
  const chosen = trash ? undefined : (all.find(({ id }) => String(id) === query.get('folder')) ?? all[0])
  return (
    <Page title="Gallery" actions={may('gallery') && <NewFolder onMade={folders.reload} />}>
      <Shown loaded={folders}>
        {() => (
          <div class="shelves">
            <nav aria-label="Folders">
              <ul>
                {all.map(({ id, name, file_count }) => (
                  <li key={id}>
                    <a href={`/console/gallery?folder=${id}`} aria-current={chosen?.id === id ? 'true' : undefined}>
                      <Said text={name} /> <span class="quiet">{countText(file_count)}</span>
                    </a>
                  </li>
                ))}
                <li>
                  <a href="/console/gallery?trash=true" aria-current={trash ? 'true' : undefined}>
                    Trash
                  </a>
                </li>
              </ul>
            </nav>
            {chosen === undefined && !trash ? (
              <Empty title="No folder yet.">
                <p>Files for headers of messages and for images are kept in folders. Create one to begin.</p>
              </Empty>
            ) : (
              <Files key={chosen?.id ?? 'trash'} folder={chosen} folders={all} onChange={folders.reload} />
            )}
          </div>
        )}
      </Shown>
    </Page>
  )
}

function Files({
  folder,
  folders,
  onChange,
}: {
  folder: FolderJson | undefined
  folders: readonly FolderJson[]
  onChange: () => void
}) {
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  const list = listFiles(folder?.id)
  const loaded = useLoad(`files ${folder?.id ?? 'trash'}`, (signal) => list(undefined, signal))
  const { rows, more } = useRows<FileJson>(loaded, (after) => list(after))
  const changed = (): void => {
    setChosen(new Set())
    loaded.reload()
    onChange()
  }
  return (
    <section class="stack" aria-labelledby="folder">
      <div class="spread">
        <h2 id="folder">{folder ? <Said text={folder.name} /> : 'Trash'}</h2>
        {folder && may('gallery') && (
          <div class="actions">
            {!folder.is_system && <RenameFolder folder={folder} onDone={onChange} />}
            <Upload folder={folder} onDone={changed} />
          </div>
        )}
      </div>
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {() =>
          rows.length === 0 ? (
            <Empty title={folder ? 'This folder has no files.' : 'The trash is empty.'}>
              <p>{folder ? 'Upload one, or move some here.' : 'What is deleted can be restored from here.'}</p>
            </Empty>
          ) : (
            <FileTable
              files={rows}
              folders={folders}
              inTrash={folder === undefined}
              chosen={chosen}
              onChoose={setChosen}
              onChange={changed}
            />
          )
        }
      </Shown>
      <More more={more} />
    </section>
  )
}
