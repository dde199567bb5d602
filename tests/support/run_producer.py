import sys, uvicorn
from shared.settings import load_settings
from shared.logs import configure_logging
from producer.hooks.app import create_app
s = load_settings(); configure_logging(s.log_format, process="producer")
uvicorn.run(create_app(s), host="127.0.0.1", port=int(sys.argv[-1]), log_config=None, access_log=False)
