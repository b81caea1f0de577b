/* Keys and clicks run one after another, also while a decision is being saved: nothing that is typed gets lost. */

let last = Promise.resolve();
let waiting = 0;
let failed = (error) => { throw error; };

export const isBusy = () => waiting > 0;
export function onFailure(handler) { failed = handler; }

export function inOrder(run) {
  waiting += 1;
  document.documentElement.dataset.busy = "yes";
  last = last.then(run).catch((error) => failed(error)).finally(() => {
    waiting -= 1;
    if (!waiting) delete document.documentElement.dataset.busy;
  });
}
