;;; client.el --- A client of procpen with Emacs' jsonrpc.el -*- lexical-binding: t -*-

;; emacs --batch -l client.el [PROCPEN [WORKSPACE]]
;;
;; Starts a command in the background, reads what it writes, and kills it.
;; jsonrpc.el sends Content-Length headers, so procpen does too.

;;; Code:

(require 'jsonrpc)

(defun procpen-start (program workspace)
  "Start PROGRAM for WORKSPACE and return its process."
  (make-process :name "procpen" :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                :command (list program "serve" "--workspace" workspace)
                :stderr (get-buffer-create "*procpen stderr*")))

(defun procpen-connect (process)
  "Return a connection to PROCESS."
  (make-instance
   'jsonrpc-process-connection
   :name "procpen" :process process
   ;; capability.notify and others.
   :notification-dispatcher #'ignore
   ;; The question capability.confirm.
   :request-dispatcher (lambda (_connection _method _params) '(:allow :json-false))))

(defun procpen-call (connection method &rest params)
  "The result of METHOD with PARAMS, a property list, as a property list."
  (jsonrpc-request connection method params :timeout 90))

(let* ((program (or (pop command-line-args-left) "procpen"))
       (workspace (or (pop command-line-args-left) "."))
       (process (procpen-start program (expand-file-name workspace)))
       (procpen (procpen-connect process))
       (run (procpen-call procpen :process.run
                          :command "echo ready; sleep 600" :background t))
       (id (plist-get run :process_id))
       (page (procpen-call procpen :process.logs :process_id id :wait_ms 60000))
       (end (procpen-call procpen :process.kill :process_id id)))
  (princ (format "output: %s\n" (string-trim (plist-get page :stdout))))
  (princ (format "state: %s\n" (plist-get end :state)))
  ;; End of file ends the server, and all that it runs.
  (process-send-eof process)
  (while (process-live-p process)
    (accept-process-output process 1)))

;;; client.el ends here
